"""A folder that becomes part of an artifact: all of it is listed, or what cannot be kept is named."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from danlu.content import listing
from danlu.content.listing import list_folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "made"
    (made / "sub").mkdir(parents=True)
    (made / "sub" / "a").write_text("a")
    (made / "b").write_text("b")
    return made


def paths(folder: Path, **options: list[str]) -> list[str]:
    found = list_folder(str(folder), "in", **options)
    return sorted([*(one.path for one in found.files), *(f"{path}/" for path in found.folders)])


class TestKept:
    def test_links_are_followed(self, folder: Path, tmp_path: Path) -> None:
        (tmp_path / "outside").mkdir()
        (tmp_path / "outside" / "c").write_text("c")
        (folder / "latest").symlink_to("sub")
        (folder / "other").symlink_to(tmp_path / "outside")
        (folder / "file").symlink_to("b")
        assert paths(folder) == ["in/b", "in/file", "in/latest/a", "in/other/c", "in/sub/a"]

    def test_empty_folders_are_kept(self, folder: Path, tmp_path: Path) -> None:
        (folder / "logs" / "old").mkdir(parents=True)
        (tmp_path / "nothing").mkdir()
        assert paths(folder) == ["in/b", "in/logs/old/", "in/sub/a"]
        assert paths(tmp_path / "nothing") == ["in/"]
        assert list_folder(str(tmp_path / "nothing")).folders == []

    def test_what_is_ignored_is_not_looked_at(self, folder: Path) -> None:
        os.mkfifo(folder / "x.fifo")
        (folder / "sub" / "gone").symlink_to("nowhere")
        assert paths(folder, ignore=["*.fifo", "sub/gone"]) == ["in/b", "in/sub/a"]
        assert paths(folder, ignore=["*.fifo", "sub"]) == ["in/b"]


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(path))


class TestRefused:
    @pytest.mark.parametrize(
        ("make", "told"),
        [
            (lambda path: path.symlink_to("nowhere"), "'sub/x': a link that leads nowhere"),
            (lambda path: path.symlink_to(".."), "a link that leads in a circle"),
            (lambda path: path.symlink_to("x"), "'sub/x': a link that leads nowhere"),
            (os.mkfifo, "'sub/x': not a regular file"),
            (_socket, "'sub/x': not a regular file"),
            (lambda path: path.with_name("x\\y").touch(), "backslash"),
            (lambda path: path.with_name("x\ny").touch(), "control character"),
            (lambda path: Path(os.fsdecode(os.fsencode(path) + b"\xff")).touch(), "it is no text"),
            (lambda path: path.with_name("d" * 200).joinpath(*["e" * 200] * 5).mkdir(parents=True), "1024 bytes"),
        ],
    )  # fmt: skip
    def test_it_is_named(
        self, folder: Path, make: Callable[[Path], object], told: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(folder)
        make(Path("sub", "x"))
        with pytest.raises(ValueError, match=re.escape(told)):
            list_folder(str(folder), "in")

    def test_several_are_named_and_the_rest_counted(self, folder: Path) -> None:
        for number in range(5):
            os.mkfifo(folder / f"x{number}")
        with pytest.raises(ValueError, match=r"'x0'.*'x1'.*'x2'.*and 2 more; nothing of it was added"):
            list_folder(str(folder))

    def test_links_that_multiply_end(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(listing, "MAX_FILES", 1000)
        for number in range(30):
            (tmp_path / str(number)).mkdir()
            for link in "ab":
                (tmp_path / str(number) / link).symlink_to(tmp_path / str(number + 1))
        (tmp_path / "30").mkdir()
        with pytest.raises(ValueError, match="more than 1000 files"):
            list_folder(str(tmp_path / "0"))
