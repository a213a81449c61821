from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from danlu import JobSpec
from danlu.client.files.code import build_tree, prepare
from danlu.errors import InvalidInput, InvalidSpec
from danlu.wire.store import Tree, TreeFile

HELLO = hashlib.sha256(b"hello").hexdigest()


class TestBuildTree:
    def test_a_folder_is_its_files_by_content(self, tmp_path: Path) -> None:
        (tmp_path / "a.py").write_text("hello")
        (tmp_path / "run.sh").write_text("hello")
        (tmp_path / "run.sh").chmod(0o755)
        local = build_tree(tmp_path)
        assert local.tree == Tree(
            files=[
                TreeFile(path="a.py", sha256=HELLO, size=5),
                TreeFile(path="run.sh", sha256=HELLO, size=5, is_executable=True),
            ]
        )
        assert set(local.files) == {HELLO}

    def test_the_digest_does_not_depend_on_where_the_folder_is_or_when_it_was_written(self, tmp_path: Path) -> None:
        for name in ("one", "two"):
            (tmp_path / name / "sub").mkdir(parents=True)
            (tmp_path / name / "sub" / "x").write_text("x")
            (tmp_path / name / "y").write_text("y")
        assert build_tree(tmp_path / "one").tree.digest == build_tree(tmp_path / "two").tree.digest

    def test_a_folder_that_is_not_there_or_a_file_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        with pytest.raises(InvalidInput, match="does not exist"):
            build_tree(tmp_path / "gone")
        with pytest.raises(InvalidInput, match="is a file; name the folder it is in"):
            build_tree(tmp_path / "file")

    def test_a_folder_that_is_too_large_names_what_is_large_in_it(self, tmp_path: Path) -> None:
        (tmp_path / "model.bin").write_bytes(bytes(3000))
        (tmp_path / "a.py").write_text("x")
        with pytest.raises(InvalidInput, match=r"model\.bin \(2\.9 KiB\).*\.danluignore.*danlu store cp"):
            build_tree(tmp_path, max_bytes=2000)

    def test_a_name_that_cannot_travel_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "back\\slash").write_text("")
        with pytest.raises(InvalidInput, match="has a name that cannot be uploaded"):
            build_tree(tmp_path)


class TestPrepare:
    def test_fields_win_over_the_spec(self) -> None:
        spec = JobSpec(name="a", command="true", nodes=2)
        assert prepare(spec, {"nodes": 3}) == {"name": "a", "command": "true", "nodes": 3}

    def test_a_code_folder_may_be_given_as_text_and_becomes_absolute(self, tmp_path: Path) -> None:
        values = prepare({"name": "a", "command": "true"}, {"code": "src"}, folder=tmp_path)
        assert values["code"] == {"path": str(tmp_path / "src")}
        values = prepare(None, {"name": "a", "command": "true", "code": tmp_path})
        assert values["code"] == {"path": str(tmp_path)}

    def test_code_in_the_store_stays_there(self) -> None:
        values = prepare(None, {"name": "a", "command": "true", "code": "store://main/code/"})
        assert values["code"] == {"store": "store://main/code/"}

    def test_what_cannot_be_used_is_said_before_anything_is_sent(self) -> None:
        with pytest.raises(InvalidSpec, match="nodse: unknown field of a job; did you mean 'nodes'"):
            prepare(None, {"name": "a", "command": "true", "nodse": 2})
