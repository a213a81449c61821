"""Artifacts through the client, with a real server."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from danlu.client import Client
from danlu.client.artifacts import Draft, plan
from danlu.errors import InvalidInput, NotFound


def random_bytes(size: int, seed: int) -> bytes:
    return random.Random(seed).randbytes(size)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "made"
    (made / "sub").mkdir(parents=True)
    (made / "model.pt").write_bytes(random_bytes(3_000_000, 1))
    (made / "sub" / "config.json").write_text("{}")
    (made / "empty").touch()
    (made / "run.sh").write_text("#!/bin/sh\n")
    (made / "run.sh").chmod(0o755)
    return made


def tree(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class TestUploadAndDownload:
    def test_what_comes_back_is_what_was_sent(self, client: Client, folder: Path, tmp_path: Path) -> None:
        version = client.artifacts.upload(
            "walk/model", folder, references={"data": "s3://bucket/data/"}, labels=["a"], description="first"
        )
        assert (version.name, version.version, version.num_files, version.num_references) == ("walk/model", 1, 4, 1)
        assert (version.labels, version.description, version.size) == (
            ["a"],
            "first",
            sum(map(len, tree(folder).values())),
        )
        client.artifacts.download("walk/model:1", tmp_path / "back")
        assert tree(tmp_path / "back") == tree(folder)
        assert (tmp_path / "back" / "run.sh").stat().st_mode & 0o100
