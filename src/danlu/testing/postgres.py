"""A real PostgreSQL server in its own folder, for tests and benchmarks. It ends with the program that started it."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from danlu.testing.waiting import HANG_SECONDS, wait_until

_USERS = ("postgres", "nobody")
"""Users that run PostgreSQL when the tests run as root, which PostgreSQL refuses."""

_SETTINGS = {
    "listen_addresses": "",
    "fsync": "off",
    "full_page_writes": "off",
    "max_connections": "300",
    "shared_buffers": "32MB",
    "autovacuum": "off",
}


class Postgres:
    """Databases on one server, reached through a socket file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def url(self, database: str) -> str:
        return f"postgresql+psycopg://danlu@/{database}?host={self._folder}"

    def make(self, template: str | None = None) -> str:
        """Create a database, empty or as a copy, and return its URL. There must be no connections to the template."""
        name = f"d{uuid.uuid4().hex}"
        copied = f" TEMPLATE {template} STRATEGY file_copy" if template else ""
        self._run(f"CREATE DATABASE {name}{copied}")
        return self.url(name)

    def drop(self, url: str) -> None:
        self._run(f"DROP DATABASE IF EXISTS {name_in(url)} WITH (FORCE)")

    def _run(self, statement: str) -> None:
        with psycopg.connect(host=str(self._folder), user="danlu", dbname="postgres", autocommit=True) as connection:
            connection.execute(statement.encode())


def name_in(url: str) -> str:
    """Name of the database in a URL."""
    return url.partition("?")[0].rpartition("/")[2]


def find_binaries() -> Path | None:
    """Folder of PostgreSQL's programs, which Debian does not add to PATH."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    if found:
        return found[-1].parent
    on_path = shutil.which("initdb")
    return Path(on_path).resolve().parent if on_path else None


@contextmanager
def running_postgres() -> Iterator[Postgres]:
    """Start a server whose collation is not by bytes, so that tests find code that depends on the order."""
    binaries = find_binaries()
    if binaries is None:
        raise RuntimeError("PostgreSQL is not installed; scripts/system-packages.sh tests installs it")
    folder = Path(tempfile.mkdtemp(prefix="danlu-pg-", dir="/tmp"))  # short: a socket's path may have 107 characters
    user = _unprivileged()
    if user is not None:
        os.chown(folder, user.pw_uid, user.pw_gid)
    uid, gid, groups = (None, None, None) if user is None else (user.pw_uid, user.pw_gid, [user.pw_gid])
    data = folder / "data"
    init = [
        str(binaries / "initdb"),
        "-D",
        str(data),
        "-U",
        "danlu",
        "-A",
        "trust",
        "-E",
        "UTF8",
        "--no-sync",
        "--locale=C",
    ]
    try:
        made = subprocess.run(
            [*init, "-E", "UTF8", "--locale=C", "--locale-provider=icu", "--icu-locale=en-US"],
            capture_output=True,
            cwd=folder,
            check=False,
            user=uid,
            group=gid,
            extra_groups=groups,
        )
        if made.returncode != 0:
            raise RuntimeError(f"initdb failed: {made.stderr.decode(errors='replace')}")
        options = [part for name, value in _SETTINGS.items() for part in ("-c", f"{name}={value}")]
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                [str(binaries / "postgres"), "-D", str(data), "-k", str(folder), *options],
                stdout=log,
                stderr=log,
                cwd=folder,
                user=uid,
                group=gid,
                extra_groups=groups,
            )
        try:
            _wait_for(folder, process)
            yield Postgres(folder)
        finally:
            process.send_signal(signal.SIGQUIT)  # immediate shutdown: no data is kept
            process.wait(timeout=HANG_SECONDS)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _unprivileged() -> pwd.struct_passwd | None:
    if os.geteuid() != 0:
        return None
    known = {user.pw_name: user for user in pwd.getpwall()}
    return next(known[name] for name in _USERS if name in known)


def _wait_for(folder: Path, process: subprocess.Popen[bytes]) -> None:
    # the last line of the lock file is written when the server accepts connections
    lock = folder / "data" / "postmaster.pid"

    def is_ready() -> bool:
        if process.poll() is not None:
            raise RuntimeError(f"PostgreSQL did not come up:\n{(folder / 'log').read_text(errors='replace')}")
        return lock.exists() and lock.read_text().rstrip().endswith("ready")

    wait_until(is_ready, lambda: (folder / "log").read_text(errors="replace"))
