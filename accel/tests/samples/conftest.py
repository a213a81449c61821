"""Tars as other programs write them."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

Members = Iterable[tuple[str, bytes]]


@pytest.fixture(scope="session")
def write_tar() -> Callable[..., Path]:
    """Return a function that writes a tar with Python's own module, and nothing of ours."""

    def write(path: Path, members: Members, form: int = tarfile.GNU_FORMAT) -> Path:
        with tarfile.open(path, "w", format=form) as tar:
            for name, data in members:
                member = tarfile.TarInfo(name)
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))
        return path

    return write
