"""`danlu artifacts` against a real server."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.cli.conftest import Said

    Danlu = Callable[..., Said]


def test_from_upload_to_delete(danlu: Danlu, tmp_path: Path) -> None:
    (tmp_path / "model.pt").write_bytes(b"weights" * 1000)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "x").write_text("only here")
    arguments = ["artifacts", "upload", "cli/model", str(tmp_path / "model.pt"), "-l", "a", "-a", "best"]
    said = danlu(*arguments, "-r", "data=s3://bucket/x/")
    assert said.out.startswith("cli/model:1  1 files, ")
    paths = [str(tmp_path / "model.pt"), str(tmp_path / "sub")]
    done = json.loads(danlu("artifacts", "upload", "cli/model", *paths, "--json").out)
    assert (done["version"], done["num_files"], done["sent_bytes"]) == (2, 2, 9)
    assert "cli/model" in danlu("artifacts", "list", "cli/").out
    assert [one["version"] for one in json.loads(danlu("artifacts", "versions", "cli/model", "--json").out)] == [2, 1]
    shown = danlu("artifacts", "show", "cli/model:best").out
    assert "cli/model:1" in shown
    assert "data -> s3://bucket/x/" in shown
    files = json.loads(danlu("artifacts", "show", "cli/model:1", "--json").out)["files"]
    assert [(one["path"], one["size"]) for one in files] == [("model.pt", 7000)]
    danlu("artifacts", "download", "cli/model:2", str(tmp_path / "back"), "--only", "x")
    assert [path.name for path in (tmp_path / "back").rglob("*")] == ["x"]
    changed = danlu("artifacts", "label", "cli/model:2", "--add", "b", "--alias", "best").out
    assert "best" in changed
    assert danlu("artifacts", "delete", "cli/model").code == 2
    assert "deleted 1 version" in danlu("artifacts", "delete", "cli/model:1").out
    assert "deleted 1 version" in danlu("artifacts", "delete", "cli/model", "--all").out
    assert "no artifact 'cli/model'" in danlu("artifacts", "show", "cli/model").err
    assert "expected files, folders or a --reference, got none" in danlu("artifacts", "upload", "cli/none").err
