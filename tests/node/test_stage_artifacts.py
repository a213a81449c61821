"""Artifacts as inputs of a task, from a server that says what the test wants."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, cast

import pytest

from danlu.node.stage.fetch import InputMissing, Sources, fetch_all
from danlu.node.task import TaskInput
from danlu.transfer.api import Api

LATER = b'{"format":3,"files":[],"references":[]}'


class LaterServer:
    """It has an artifact whose manifest a later version of Danlu wrote."""

    def get(self, _path: str) -> dict[str, Any]:
        return {"manifest": hashlib.sha256(LATER).hexdigest()}

    def fetch(self, _method: str, _path: str) -> bytes:
        return LATER


def test_a_manifest_of_a_later_version_is_a_clear_end(tmp_path: Path) -> None:
    sources = Sources(cast(Api, LaterServer()), None, lambda: pytest.fail("not elsewhere"))
    said: list[str] = []
    with pytest.raises(
        InputMissing, match=r"artifact:v cannot be read here: expected a manifest of one of the formats \(1, 2\)"
    ):
        fetch_all(sources, [TaskInput("artifact:v", str(tmp_path / "in"))], say=said.append)
    assert said == []
