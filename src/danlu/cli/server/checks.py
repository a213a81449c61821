"""Checks of `danlu doctor`. Each is a real test; a finding says how to fix a problem."""

from __future__ import annotations

import json
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from email.utils import parsedate_to_datetime
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple, Optional
from urllib.parse import urlsplit

from danlu.client.config import Settings, user_file
from danlu.client.http import Http
from danlu.errors import DanluError, ServerUnreachable
from danlu.spec.states import Word
from danlu.spec.units import show_size

_LOW_BYTES, _FULL_BYTES = 5 << 30, 512 << 20
_SERVER_LIBRARIES = ("alembic", "argon2", "cryptography", "fastapi", "pydantic_settings", "sqlalchemy", "uvicorn")
_NETWORK_FILE_SYSTEMS = {"nfs", "nfs4", "cifs", "smb3", "fuse.sshfs", "9p", "lustre", "ceph"}


class Level(Word):
    GOOD = "good"
    WARNING = "warning"
    """Works, but with limitations."""

    BAD = "bad"


class Finding(NamedTuple):
    what: str
    level: Level
    text: str
    remedy: str = ""


def data_folder(given: Optional[Path]) -> tuple[Path, bool]:
    """The data folder, and whether it was given. Same precedence as `danlu up`."""
    named = given or os.environ.get("DANLU_SERVER_DATA_DIR")
    return Path(named or "~/.danlu").expanduser().absolute(), bool(named)


def check_folder(data_dir: Path, *, is_named: bool) -> Finding:
    """Which data folder is checked."""
    if (data_dir / "server").is_dir():
        other = "" if is_named else "; check another one with danlu doctor --data-dir FOLDER"
        return Finding("folder", Level.GOOD, f"data folder of a server: {data_dir}{other}")
    text = f"{data_dir} has no server data yet"
    remedy = "if the data is elsewhere: danlu doctor --data-dir FOLDER"
    return Finding("folder", Level.GOOD, text, remedy)


def check_machine(data_dir: Path) -> Iterator[Finding]:
    """Checks of this machine for a server and its jobs."""
    yield check_python()
    yield from check_old_names()
    yield check_packages()
    yield from check_isolation()
    yield check_disk(data_dir)
    yield check_file_system(data_dir)
    yield check_database(data_dir / "server" / "danlu.db")
    yield check_clock(data_dir, time.time())


def check_server(settings: Settings) -> Iterator[Finding]:
    """Checks of the configured server and API key."""
    try:
        is_danlu, date = _ask(settings, "/health")
    except ServerUnreachable:
        yield check_port(settings.url)
        return
    if not is_danlu:
        remedy = "use another port: danlu up --port PORT, and set DANLU_URL"
        yield Finding("server", Level.BAD, f"the server is not a Danlu server: {settings.url}", remedy)
        return
    yield Finding("server", Level.GOOD, f"a Danlu server answers at {settings.url}")
    yield check_clocks_agree(date, time.time())
    yield check_key(settings)


def check_python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    missing = [name for name in _SERVER_LIBRARIES if find_spec(name) is None]
    if missing:
        remedy = "pip install 'danlu[server]' to run a server here"
        return Finding("python", Level.WARNING, f"Python {version}; a server needs {', '.join(missing)}", remedy)
    if sys.version_info < (3, 11):
        return Finding("python", Level.WARNING, f"Python {version}; a server needs 3.11", "install a newer Python")
    return Finding("python", Level.GOOD, f"Python {version} with all packages for a server")


def check_old_names() -> Iterator[Finding]:
    """Whether another package has files under a name that danlu-compat has too."""
    installed = {name: _version_of(name) for name in ("danlu-compat", "tikit")}
    if all(installed.values()):
        yield Finding(
            "tikit",
            Level.WARNING,
            f"Tencent Cloud's tikit {installed['tikit']} is installed beside danlu-compat: both have the folder tikit",
            "pip uninstall tikit, then pip install --force-reinstall danlu-compat; or use two environments",
        )


def check_packages() -> Finding:
    """Danlu's own packages, as jobs will see them."""
    script = Path(__file__).parents[2] / "node" / "packages.py"
    done = subprocess.run([sys.executable, "-I", str(script)], capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0:
        told = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return Finding("packages", Level.WARNING, f"cannot look for packages: {told}", "is this Python complete?")
    found = json.loads(done.stdout)["own"]
    hidden = [f"{name} ({one['problem']})" for name, one in found.items() if one["problem"]]
    missing = [dist for dist, name in (("danlu-compat", "t9k"), ("danlu-accel", "danlu_accel")) if name not in found]
    text = f"jobs can import {', '.join(name for name, one in found.items() if not one['problem'])}"
    if hidden:
        remedy = "let all users read them: chmod -R o+rX FOLDER"
        return Finding("packages", Level.WARNING, f"{text}; not {', '.join(hidden)}", remedy)
    if missing:
        remedy = f"if jobs are to use them: pip install {' '.join(missing)}"
        return Finding("packages", Level.GOOD, f"{text}; not installed: {', '.join(missing)}", remedy)
    return Finding("packages", Level.GOOD, text)


def check_isolation() -> Iterator[Finding]:
    """Sandbox, networks and limits, tested with the server's own probe."""
    name = f"danlu-doctor-{os.getpid()}"
    probe = Path(__file__).parents[2] / "node" / "probe.py"
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(probe), name], capture_output=True, text=True, timeout=60, check=False
    )
    if done.returncode != 0:
        told = (done.stderr.strip().splitlines() or ["no message"])[-1]
        yield Finding("sandbox", Level.BAD, f"the probe failed: {told}", "is it Linux?")
        return
    found = json.loads(done.stdout)
    for folder in found["cgroups"].values():
        with suppress(OSError):
            os.rmdir(folder)
    problem = found["sandbox_problem"]
    yield _isolation("sandbox", problem, "jobs run in a bubblewrap sandbox", "apt install bubblewrap, or run as root")
    yield _isolation("network", found["network_problem"], "every job has a private network", "run the server as root")
    missing = [kind for kind in ("memory", "cpu") if kind not in found["cgroups"]]
    told = f"cannot create control groups for {' and '.join(missing)}" if missing else ""
    yield _isolation(
        "cgroups",
        told,
        "limits of memory and cores are enforced",
        "run as root, with cgroups mounted writable",
    )


def check_disk(data_dir: Path) -> Finding:
    usage = shutil.disk_usage(_existing(data_dir))
    text = f"{show_size(usage.free)} free of {show_size(usage.total)} where {data_dir} is"
    if usage.free < _FULL_BYTES:
        return Finding("disk", Level.BAD, text, "free space, or use another --data-dir")
    if usage.free < _LOW_BYTES:
        return Finding("disk", Level.WARNING, text, "free space before large jobs")
    return Finding("disk", Level.GOOD, text)


def check_file_system(data_dir: Path) -> Finding:
    """Checks atomic renames and whether SQLite can lock."""
    folder = _existing(data_dir)
    kind = _file_system(folder)
    first, second = folder / f".doctor-{uuid.uuid4().hex}", folder / f".doctor-{uuid.uuid4().hex}"
    try:
        with first.open("wb") as file:
            file.write(b"x")
            os.fsync(file.fileno())
        os.replace(first, second)
    except OSError as error:
        text = f"cannot write to {folder}: {error.strerror}"
        return Finding("store", Level.BAD, text, "use another --data-dir, or run as its owner")
    finally:
        first.unlink(missing_ok=True)
        second.unlink(missing_ok=True)
    if kind in _NETWORK_FILE_SYSTEMS:
        text = f"{folder} is on {kind}; SQLite is not safe there"
        return Finding("store", Level.BAD, text, "use a --data-dir on a local disk")
    return Finding("store", Level.GOOD, f"{folder} is writable ({kind or 'unknown file system'})")


def check_database(path: Path) -> Finding:
    if not path.exists():
        return Finding("database", Level.GOOD, "none yet; `danlu up` creates it")
    try:
        with sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=5) as connection:
            (told,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        connection.close()
    except sqlite3.Error as error:
        told = str(error)
    if told != "ok":
        remedy = "stop the server, keep a copy of the file, and restore a backup"
        return Finding("database", Level.BAD, f"{path}: {told}", remedy)
    return Finding("database", Level.GOOD, f"{path} is intact ({show_size(path.stat().st_size)})")


def check_clock(data_dir: Path, now: float) -> Finding:
    """Files with a future time mean that the clock was set back."""
    newest = max((path.stat().st_mtime for path in _some_files(data_dir)), default=now)
    if newest > now + 60:
        text = f"the clock is {newest - now:.0f} s behind files in {data_dir}"
        return Finding(
            "clock", Level.WARNING, text, "set the clock, for example with chrony or timedatectl set-ntp true"
        )
    return Finding("clock", Level.GOOD, "no file here has a future time")


def check_clocks_agree(date: Optional[str], now: float) -> Finding:
    theirs = parsedate_to_datetime(date).timestamp() if date else now
    if abs(theirs - now) > 10:
        text = f"the server's clock and this one are {abs(theirs - now):.0f} s apart"
        return Finding("clocks", Level.WARNING, text, "synchronize both clocks; `logs --since` is off by this much")
    return Finding("clocks", Level.GOOD, "the server's clock and this one agree")


def check_key(settings: Settings) -> Finding:
    if settings.api_key is None:
        return Finding("key", Level.WARNING, "no API key is set", "danlu login, or DANLU_API_KEY")
    is_accepted, _ = _ask(settings, "/me")
    if not is_accepted:
        text = f"the server rejects the key from {settings.key_from}"
        return Finding("key", Level.BAD, text, "create a new one with danlu login")
    path = user_file()
    if settings.key_from == str(path) and path.stat().st_mode & 0o077:
        return Finding("key", Level.WARNING, f"others can read {path}", f"chmod 600 {path}")
    return Finding("key", Level.GOOD, f"the key from {settings.key_from} is accepted")


def check_port(url: str) -> Finding:
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        with socket.create_server((parts.hostname or "", port)):
            return Finding("server", Level.GOOD, f"none at {url}; the port is free for `danlu up`")
    except OSError as error:
        text = f"no server at {url}, and the port cannot be used: {error.strerror}"
        return Finding("server", Level.BAD, text, "set DANLU_URL to the address of the server")


def _version_of(distribution: str) -> Optional[str]:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def _isolation(what: str, problem: str, good: str, remedy: str) -> Finding:
    if problem:
        return Finding(what, Level.WARNING, f"not possible here: {problem.splitlines()[0]}", remedy)
    return Finding(what, Level.GOOD, good)


def _ask(settings: Settings, path: str) -> tuple[bool, Optional[str]]:
    """Whether a Danlu server answers, and its Date header. Raise ServerUnreachable."""
    http = Http(settings.url, settings.credentials)
    try:
        response = http.send("GET", path)
        body = response.json()
    except ServerUnreachable:
        raise
    except (DanluError, ValueError):
        return False, None
    finally:
        http.close()
    is_danlu = isinstance(body, dict) and bool({"version", "is_admin"} & set(body))
    return is_danlu, response.headers.get("Date")


def _existing(path: Path) -> Path:
    """The folder, or its nearest existing parent."""
    while not path.is_dir():
        path = path.parent
    return path


def _some_files(folder: Path) -> Iterator[Path]:
    for name in ("", "server", "work", "store"):
        if (folder / name).is_dir():
            yield from (path for path in (folder / name).iterdir() if path.is_file())


def _file_system(folder: Path) -> Optional[str]:
    """File system type of a folder."""
    best, kind = "", None
    try:
        lines = Path("/proc/self/mounts").read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        _, where, found, *_ = line.split()
        place = where.rstrip("/") + "/"
        if f"{folder.resolve()}/".startswith(place) and len(place) >= len(best):
            best, kind = place, found
    return kind
