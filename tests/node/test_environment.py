"""What belongs to the requirements of a job, and which environments a node keeps."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from danlu.node.environment import kept
from danlu.node.environment.collect import BadRequirements, collect


def collected(tmp_path: Path, files: Mapping[str, str], *, file: str = "", packages: tuple[str, ...] = ()) -> set[str]:
    code, to = tmp_path / "code", tmp_path / "to"
    to.mkdir()
    for path, text in files.items():
        (code / path).parent.mkdir(parents=True, exist_ok=True)
        (code / path).write_text(text)
    collect(str(code), str(to), file=file, packages=packages)
    return {str(path.relative_to(to)) for path in to.rglob("*") if path.is_file()}


class TestCollect:
    def test_files_that_are_named_and_no_others(self, tmp_path: Path) -> None:
        files = {
            "needs/all.txt": "-r more.txt\n--constraint=../pins.txt\n-f wheels\nx==1 \\\n  --hash=sha256:12\n./own[x]",
            "needs/more.txt": "numpy  # ./not-this.whl\nhttps://example.com/x.whl\nname @ https://example.com/a/b.whl",
            "needs/not-this.whl": "",
            "pins.txt": "numpy<3",
            "wheels/a.whl": "",
            "wheels/readme.md": "",
            "own/pyproject.toml": "",
            "own/src/own.py": "",
            "train.py": "",
        }
        assert collected(tmp_path, files, file="needs/all.txt") == {
            *("needs/all.txt", "needs/more.txt", "pins.txt", "wheels/a.whl", "own/pyproject.toml", "own/src/own.py"),
        }

    def test_a_project_is_its_dependencies(self, tmp_path: Path) -> None:
        text = '[project]\nname = "mine"\nversion = "1"\ndependencies = ["torch>=2", "numpy; python_version > \'3\'"]\n'
        assert collected(tmp_path, {"pyproject.toml": text}, file="pyproject.toml") == {"requirements.txt"}
        assert (tmp_path / "to/requirements.txt").read_text() == "torch>=2\nnumpy; python_version > '3'\n"

    def test_a_lock_comes_with_its_project(self, tmp_path: Path) -> None:
        files = {"uv.lock": "version = 1", "pyproject.toml": "[project]", "train.py": ""}
        assert collected(tmp_path, files, file="uv.lock") == {"uv.lock", "pyproject.toml"}

    def test_lines_of_the_job_file_are_a_file(self, tmp_path: Path) -> None:
        assert collected(tmp_path, {"a.whl": "", "b.whl": ""}, packages=("./a.whl", "numpy")) == {
            "requirements.txt",
            "a.whl",
        }

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            ("-e .", "editable"),
            ("--editable=./own", "editable"),
            ("../x.whl", "outside"),
            ("/etc/passwd", "outside"),
            ("-r ../../x.txt", "outside"),
            ("link/x.whl", "outside"),
            ("-r none.txt", "not in the code folder"),
            ("x @ file:///etc/passwd", "expected a path"),
            ("file:./x.whl", "expected a path"),
        ],
    )
    def test_what_leads_out_of_the_code_is_refused(self, tmp_path: Path, text: str, problem: str) -> None:
        (tmp_path / "code").mkdir()
        (tmp_path / "x.whl").touch()
        (tmp_path / "code/link").symlink_to(tmp_path)
        with pytest.raises(BadRequirements, match=problem):
            collected(tmp_path, {"requirements.txt": text}, file="requirements.txt")


class TestKept:
    def make(self, folder: Path, key: str, *, size: int, used_at: float) -> str:
        path = folder / "1" / key
        path.mkdir(parents=True)
        record = {"project_id": 1, "size_bytes": size, "python": "3.11", "packages": [], "made_at": 1.0}
        Path(f"{path}.json").write_text(json.dumps(record))
        os.utime(f"{path}.json", (used_at, used_at))
        return str(path)

    def test_the_least_recently_used_go_first(self, tmp_path: Path) -> None:
        for number, key in enumerate("abc"):
            self.make(tmp_path, key, size=10, used_at=100.0 - number)
        assert [one.key for one in kept.clean(str(tmp_path), 15)] == ["c", "b"]
        assert [one.key for one in kept.list_kept(str(tmp_path))] == ["a"]
        assert not (tmp_path / "1/b").exists()

    def test_one_in_use_stays_until_it_is_let_go(self, tmp_path: Path) -> None:
        path = self.make(tmp_path, "a", size=10, used_at=1.0)
        holding = kept.hold(path)
        assert holding is not None
        assert kept.clean(str(tmp_path), 0) == []
        os.close(holding)
        assert [one.key for one in kept.clean(str(tmp_path), 0)] == ["a"]
        assert kept.hold(path) is None
