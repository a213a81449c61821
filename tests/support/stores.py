"""Object stores for tests: the same test on a folder and on real S3 servers."""

from __future__ import annotations

import uuid
from contextlib import ExitStack
from pathlib import Path

import pytest

from danlu.store.objects.base import Objects
from danlu.store.objects.local import LocalObjects
from danlu.store.objects.s3 import S3Objects
from danlu.testing.s3 import S3Server, running_moto, running_rclone, running_swift

S3_KINDS = ("rclone", "virtual-host", "moto", "swift")
KINDS = ("local", *S3_KINDS)


class S3Servers(ExitStack):
    """Started when first asked for, ended together."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder
        self._running: dict[str, S3Server] = {}

    def get(self, kind: str) -> S3Server:
        if kind not in self._running:
            if kind == "moto":
                made = running_moto(self._folder)
            elif kind == "swift":
                pytest.importorskip("swift", reason="OpenStack Swift is not installed; pip install swift")
                made = running_swift(self._folder / kind)
            else:
                made = running_rclone(self._folder / kind, is_virtual_host=kind == "virtual-host")
            self._running[kind] = self.enter_context(made)
        return self._running[kind]


def make_objects(kind: str, servers: S3Servers, folder: Path) -> Objects:
    """An empty store."""
    if kind == "local":
        return LocalObjects(folder / uuid.uuid4().hex)
    place = servers.get(kind).below(uuid.uuid4().hex)
    return S3Objects(place, folder / "spool", is_direct=True)
