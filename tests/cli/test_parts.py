from __future__ import annotations

import pytest

from danlu.cli.jobs.logs import parse_ranks
from danlu.cli.jobs.run import command_of, name_of
from danlu.cli.output import table, wrapped


@pytest.mark.parametrize(
    ("text", "ranks"), [(None, None), ("0", [0]), ("0,2-3", [0, 2, 3]), (" 1 , 1-2", [1, 2]), ("10-12", [10, 11, 12])]
)
def test_ranks(text: str, ranks: list[int]) -> None:
    assert parse_ranks(text) == ranks


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (["python", "train.py", "--lr", "0.1"], ["python", "train.py", "--lr", "0.1"]),
        (["echo $RANK && date"], "echo $RANK && date"),
        (["./start.sh&&date"], "./start.sh&&date"),
        (["echo 'it is"], "echo 'it is"),
        (["./my script.sh", "x"], ["./my script.sh", "x"]),
    ],
)
def test_one_word_is_a_shell_line(words: list[str], command: object) -> None:
    assert command_of(words) == command


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["python", "-u", "src/train.py", "--lr", "1"], "train"),
        (["bash", "start_cloud.sh"], "start_cloud"),
        (["echo $RANK; sleep 1"], "echo"),
        (["/usr/bin/nvidia-smi"], "nvidia-smi"),
        (["$(x)"], "x"),
        (["..."], "run"),
    ],
)
def test_a_name_comes_out_of_the_command(words: list[str], name: str) -> None:
    assert name_of(words) == name


def test_wide_characters_do_not_shift_a_table() -> None:
    text = table(("A", "B"), [("丹炉", "x"), ("red", "y")])
    assert text.splitlines() == ["A     B", "丹炉  x", "red   y"]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", [""]),
        ("one two  three", ["one two", "three"]),
        ("a-very-long-word and b", ["a-very-long-word", "and b"]),
        ("节点上运行一次", ["节点上运", "行一次"]),
        ("节点上运。一次", ["节点上", "运。一次"]),
        ("用 npu（一）", ["用 npu", "（一）"]),
    ],
)
def test_lines_are_broken_at_spaces_and_between_chinese_characters(text: str, lines: list[str]) -> None:
    assert wrapped(text, 8) == lines
