"""The one place that prints: what it escapes, and what it leaves."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from contextlib import redirect_stdout

import pytest
from hypothesis import given
from hypothesis import strategies as st

from danlu.cli.output import facts, table
from danlu.cli.terminal import (
    LogText,
    echo,
    echo_block,
    echo_bytes,
    echo_file,
    echo_json,
    echo_log,
    escape,
    guarded_streams,
    one_line,
    paint,
)


class FakeScreen(io.TextIOWrapper):
    """A stream that says it is a terminal."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", newline="")

    def isatty(self) -> bool:
        return True

    @property
    def text(self) -> str:
        self.flush()
        assert isinstance(self.buffer, io.BytesIO)
        return self.buffer.getvalue().decode()


def seen(*prints: Callable[[], None]) -> str:
    """What reaches a terminal."""
    screen = FakeScreen()
    with redirect_stdout(screen):
        for one in prints:
            one()
    return screen.text


@pytest.fixture(autouse=True)
def coloured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.delenv("NO_COLOR", raising=False)


class TestEscape:
    @given(st.text())
    def test_the_result_is_printable_and_stays_the_same_when_escaped_again(self, text: str) -> None:
        shown = escape(text)
        assert escape(shown) == shown
        assert not any(ord(char) < 32 or 127 <= ord(char) < 160 for char in shown if char not in "\n\t")

    @pytest.mark.parametrize("text", ["", "plain", "丹炉 é ñ", "a\tb\nc", "👩‍👩‍👧", "שלום", "C:\\path"])
    def test_ordinary_text_is_left_as_it_is(self, text: str) -> None:
        assert escape(text) == text

    def test_forms(self) -> None:
        assert escape("\x1b\x9b\u202e\U000e0041\ud800") == "\\x1b\\x9b\\u202e\\U000e0041\\ud800"

    def test_one_line(self) -> None:
        assert one_line("a\nb\tc") == "a\\nb\\tc"


class TestStyles:
    def test_ours_stay_and_others_are_shown(self) -> None:
        shown = seen(lambda: echo(f"{paint('ok', 32)} \x1b[31mred\x1b[0m"))
        assert shown == "\x1b[32mok\x1b[0m \\x1b[31mred\\x1b[0m\n"

    def test_a_painted_text_is_escaped_too(self) -> None:
        assert seen(lambda: echo(paint("\x1b[2J", 1))) == "\x1b[1m\\x1b[2J\x1b[0m\n"

    def test_further_lines_of_a_message_are_indented(self) -> None:
        assert seen(lambda: echo("job x\ndanlu: all is well")) == "job x\n    danlu: all is well\n"

    def test_a_cut_row_keeps_its_styles(self) -> None:
        shown = seen(lambda: echo_block(table(("A", "B"), [(paint("丹炉", 31), paint("x" * 100, 32))])))
        assert shown.splitlines()[1] == f"\x1b[31m丹炉\x1b[0m  \x1b[32m{'x' * 23}\x1b[0m…"

    def test_cells_and_facts_stay_on_their_lines(self) -> None:
        shown = seen(
            lambda: echo_block(table(("A",), [("x\ny",)])),
            lambda: echo_block(facts("t\nu", {"a": "x\ny", "none": ""})),
        )
        plain = shown.replace("\x1b[1m", "").replace("\x1b[0m", "").splitlines()
        assert plain == ["A", "x\\ny", "t\\nu", "  a          x", "             y"]


class TestLogs:
    def test_of_a_progress_bar_the_last_state(self) -> None:
        lines = [LogText("0 | ", "10%\r20%\r30%"), LogText("1 | ", "done\r")]
        assert seen(lambda: echo_log(lines)) == "0 | 30%\n1 | done\n"

    def test_output_of_another_program_in_any_pieces(self) -> None:
        data = "é\x1b[1;31mred\x1b[0m\x1b]52;c;x\x07\r10%\n\x9b2J".encode()

        def in_pieces(size: int) -> str:
            pieces = [data[at : at + size] for at in range(0, len(data), size)]
            return seen(lambda: echo_bytes(pieces, is_raw=False))

        shown = {in_pieces(size) for size in range(1, len(data) + 1)}
        assert shown == {"é\x1b[1;31mred\x1b[0m\\x1b]52;c;x\\x07\r10%\n\\x9b2J"}


class TestOtherKinds:
    def test_json_is_lossless(self) -> None:
        value = {"a\x9b": "\x1b]0;x\x07\u202e\x7f\U000e0041é"}
        shown = seen(lambda: echo_json(value))
        assert json.loads(shown) == value
        assert not any(ord(char) > 126 for char in shown.replace("é", ""))

    def test_files_are_escaped_on_a_terminal_only(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert seen(lambda: echo_file("a\x1b[2Jb\n")) == "a\\x1b[2Jb\n"
        echo_file("a\x1b[2Jb\n")
        assert capsys.readouterr().out == "a\x1b[2Jb\n"

    def test_what_libraries_print_is_guarded(self) -> None:
        def library() -> None:
            with guarded_streams():
                print("\x1b[32mgreen\x1b[0m \x1b]0;x\x07 \x9b2J")

        assert seen(library) == "\x1b[32mgreen\x1b[0m \\x1b]0;x\\x07 \\x9b2J\n"
