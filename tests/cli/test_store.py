from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.cli.conftest import Said

    Danlu = Callable[..., Said]


class TestStore:
    def test_a_folder_goes_there_and_back_and_away(self, danlu: Danlu, alone: Path) -> None:
        (alone / "images" / "cats").mkdir(parents=True)
        (alone / "images" / "cats" / "1.png").write_bytes(b"cat")
        (alone / "images" / "list.txt").write_text("1.png")
        assert danlu("store", "cp", "images", "store://main/cli/").code == 2
        assert danlu("store", "cp", "-r", "images", "store://main/cli/").out == "copied 2 files\n"
        listed = danlu("store", "ls", "store://main/cli").out.splitlines()
        assert [line.split()[-1] for line in listed] == ["cli/cats/", "cli/list.txt"]
        found = json.loads(danlu("store", "ls", "-r", "store://main/cli/", "--json").out)
        assert [entry["key"] for entry in found] == ["cli/cats/1.png", "cli/list.txt"]
        assert danlu("store", "cp", "-r", "store://main/cli", "back").out == "copied 2 files\n"
        assert (alone / "back" / "cats" / "1.png").read_bytes() == b"cat"
        assert danlu("store", "cp", "store://main/cli/list.txt", ".").out == "copied 1 file\n"
        assert (alone / "list.txt").read_text() == "1.png"
        assert danlu("store", "rm", "store://main/cli/list.txt").out == "deleted 1 object\n"
        assert danlu("store", "rm", "-r", "store://main/cli").out == "deleted 1 object\n"

    def test_what_is_not_there(self, danlu: Danlu) -> None:
        assert danlu("store", "cp", "store://main/nothing", "x").err == (
            "danlu: there is no object store://main/nothing\n"
        )
        assert danlu("store", "ls", "store://main/nothing").code == 1
        assert danlu("store", "rm", "store://main/nothing").code == 1
        assert danlu("store", "cp", "nothing", "store://main/x").err == "danlu: there is no file or folder 'nothing'\n"
        assert danlu("store", "ls", "store://Bad/x").err.startswith("danlu: expected a bucket name of 3 to 63 ")

    def test_buckets(self, danlu: Danlu) -> None:
        assert danlu("store", "mb", "tests-made-by-cli").out == "store://tests-made-by-cli/\n"
        assert "store://tests-made-by-cli/" in danlu("store", "ls").out.splitlines()
