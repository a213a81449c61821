"""The one place where the command line prints.

Names, log lines, tags and error messages come from other people. On a terminal, control characters in them could move
the cursor, set the title, fill the clipboard (OSC 52) or reorder text. So everything that is printed is escaped here:
such characters appear as `\\x1b` or `\\u202e`. Only styles that `paint` added stay: `paint` marks them with a random
token that no text from elsewhere can contain.

Log lines keep their own colours on a terminal, and are printed as they are when the output is piped.
"""

from __future__ import annotations

import codecs
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, NoReturn, Optional, TextIO, cast

if TYPE_CHECKING:
    from danlu.client import Progress

# C0 but tab and line feed, DEL and C1; soft hyphen, bidirectional marks, embeddings, overrides and isolates, invisible
# characters, line and paragraph separators, surrogates, interlinear annotations, tags
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff"
    "\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
_SGR = re.compile(r"(\x1b\[[0-9;:]{0,64}m)")
_OPEN_SGR = re.compile(r"\x1b(\[[0-9;:]{0,64})?\Z")
_INDENT = "    "
_RESET = "\x1b[0m"


class LogText(NamedTuple):
    prefix: str
    """Ours, such as the rank."""

    text: str
    """The job's."""


def echo(text: str = "") -> None:
    """Print a message to stdout. Further lines are indented, so that they do not look like other messages."""
    _write(sys.stdout, _render(_message(text)))


def echo_err(text: str = "") -> None:
    """Print a message to stderr, beside the output proper."""
    _write(sys.stderr, _render(_message(text)))


def say_more(num_found: int, limit: int) -> None:
    """Say beside a list that it was cut at its limit."""
    if num_found > limit:
        echo_err(f"danlu: only the newest {limit} are shown; -n {limit * 10} shows more")


def echo_block(text: str) -> None:
    """Print lines that are laid out already, such as a table."""
    _write(sys.stdout, _render(text) + "\n")


def echo_json(value: object) -> None:
    """Print wire models as JSON; a list of them as one array."""
    text = json.dumps(_to_plain(value), indent=2, ensure_ascii=False)
    _write(sys.stdout, _UNSAFE.sub(_json_escape, text) + "\n")


def echo_json_lines(values: Iterable[object]) -> None:
    """Print each value as JSON on a line of its own."""
    text = "".join([json.dumps(_to_plain(value), ensure_ascii=False) + "\n" for value in values])
    _write(sys.stdout, _UNSAFE.sub(_json_escape, text))


def _to_plain(value: object) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if isinstance(value, dict):
        return {name: _to_plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_to_plain(item) for item in value]
    return value


def echo_log(lines: Iterable[LogText], *, is_raw: bool = False) -> None:
    """Print lines of a job: escaped but for colours on a terminal, as they are in a pipe or with `is_raw`."""
    if is_raw or not sys.stdout.isatty():
        _write(sys.stdout, "".join([f"{_render(line.prefix)}{line.text}\n" for line in lines]))
        return
    keeps_colour = has_colour(sys.stdout)
    shown = (f"{_render(line.prefix)}{_log_text(line.text, keeps_colour=keeps_colour)}\n" for line in lines)
    _write(sys.stdout, "".join(shown))


def echo_file(text: str) -> None:
    """Print the content of a file: escaped on a terminal, as it is in a pipe."""
    _write(sys.stdout, escape(text) if sys.stdout.isatty() else text)


def echo_bytes(pieces: Iterable[bytes], *, is_raw: bool) -> None:
    """Copy the output of another program to stdout as it comes; escaped but for colours unless `is_raw`."""
    screen = _unguarded(sys.stdout)
    if is_raw:
        for piece in pieces:
            screen.buffer.write(piece)
            screen.buffer.flush()
        return
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    held = ""
    for piece in pieces:
        text = held + decoder.decode(piece)
        cut = found.start() if (found := _OPEN_SGR.search(text)) else len(text)
        held = text[cut:]
        _write(screen, _with_sgr(text[:cut], keeps=("\r",)))
    _write(screen, _with_sgr(held + decoder.decode(b"", final=True), keeps=()))


def clear_screen() -> None:
    _write(_unguarded(sys.stdout), "\x1b[H\x1b[2J")


def fail(message: str, *, code: int = 1) -> NoReturn:
    """Print what went wrong to stderr, and exit."""
    for line in message.splitlines() or [""]:
        echo_err(f"danlu: {line}")
    sys.exit(code)


def escape(text: str) -> str:
    """Show control characters and characters that reorder text; tabs and line feeds stay."""
    return _UNSAFE.sub(_escape_one, text)


def one_line(text: str) -> str:
    """Escape text for a cell or a line of its own: line feeds and tabs too. Styles stay."""
    pieces = _style_marks().split(text)
    pieces[::2] = [escape(piece).replace("\n", "\\n").replace("\t", "\\t") for piece in pieces[::2]]
    return _joined(pieces)


def has_colour(stream: TextIO) -> bool:
    """Whether colours are wanted: a terminal, without `NO_COLOR` and `TERM=dumb`."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def paint(text: str, *codes: int) -> str:
    """Text in these SGR styles, for `echo`; as it is where colours are not wanted."""
    if not has_colour(sys.stdout):
        return text
    return f"{_style_token()}{';'.join(map(str, codes))}m{text}{_style_token()}0m"


def split_styles(text: str) -> list[str]:
    """Text and styles in turn, beginning with text; `join_styles` puts them together again."""
    return _style_marks().split(text)


def join_styles(pieces: Iterable[str]) -> str:
    return _joined(list(pieces))


@contextmanager
def progress_bar() -> Iterator[Optional[Callable[[Progress], None]]]:
    """A listener that draws a bar on a terminal; None without one."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn
    from rich.progress import Progress as Bar

    columns = (
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}", markup=False),  # a file may be called [link=...]
    )
    with Bar(*columns, console=Console(file=_unguarded(sys.stderr)), transient=True) as bar:
        task = bar.add_task("", total=None)

        def draw(progress: Progress) -> None:
            text = f"{progress.num_done}/{progress.num_files} {one_line(os.path.basename(progress.file))}"
            bar.update(task, total=progress.total_bytes, completed=progress.done_bytes, description=text)

        yield draw


def counter(noun: str) -> Callable[[int], None]:
    """A listener that shows every hundredth number on one line of a terminal."""

    def count(number: int) -> None:
        if sys.stderr.isatty() and number % 100 == 0:
            _write(sys.stderr, f"\r{number} {escape(noun)}")

    return count


@contextmanager
def guarded_streams() -> Iterator[None]:
    """Escape also what libraries print, such as tracebacks and wrong calls, but for colours."""
    before = sys.stdout, sys.stderr
    for stream in before:
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal that cannot show a character is no reason to stop
    sys.stdout, sys.stderr = cast("TextIO", _Guard(before[0])), cast("TextIO", _Guard(before[1]))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


class _Guard:
    """A text stream that writes escaped text to another one."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"expected str, got {type(text).__name__}")
        self.stream.write(_with_sgr(text, keeps=()) if self.stream.isatty() else text)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def _unguarded(stream: TextIO) -> TextIO:
    return stream.stream if isinstance(stream, _Guard) else stream


def _write(stream: TextIO, text: str) -> None:
    screen = _unguarded(stream)
    screen.write(text)
    screen.flush()


def _message(text: str) -> str:
    return text.replace("\n", f"\n{_INDENT}") + "\n"


def _render(text: str) -> str:
    """Escaped text with our styles as SGR sequences."""
    pieces = _style_marks().split(text)
    pieces[::2] = [escape(piece) for piece in pieces[::2]]
    pieces[1::2] = [f"\x1b[{code}m" for code in pieces[1::2]]
    return "".join(pieces)


def _log_text(text: str, *, keeps_colour: bool) -> str:
    """A line as a terminal would end up showing it: of what a progress bar wrote over itself, the last."""
    if "\r" in text:
        text = next((piece for piece in reversed(text.split("\r")) if piece.strip()), "")
    if "\x1b" not in text:
        return escape(text)
    if not keeps_colour:
        return escape(_SGR.sub("", text))
    # its colours end with its line
    return _with_sgr(text, keeps=()) + (_RESET if _SGR.search(text) else "")


def _with_sgr(text: str, *, keeps: tuple[str, ...]) -> str:
    if not _UNSAFE.search(text):
        return text
    pieces = _SGR.split(text)
    pieces[::2] = [_UNSAFE.sub(lambda one: one[0] if one[0] in keeps else _escape_one(one), one) for one in pieces[::2]]
    return "".join(pieces)


def _escape_one(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_escape(found: re.Match[str]) -> str:
    """The same character as JSON writes it."""
    return json.dumps(found[0])[1:-1]


@cache
def _style_token() -> str:
    return f"\x1b{os.urandom(8).hex()}:"


@cache
def _style_marks() -> re.Pattern[str]:
    return re.compile(re.escape(_style_token()) + "([0-9;]*)m")


def _joined(pieces: list[str]) -> str:
    pieces[1::2] = [f"{_style_token()}{code}m" for code in pieces[1::2]]
    return "".join(pieces)
