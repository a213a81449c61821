"""Open shells, with a channel that does what the test says."""

from __future__ import annotations

import queue
from typing import cast

import pytest

from danlu.engines.base import Channel, Engine, Handle, TerminalSize
from danlu.errors import NotFound, Unsupported
from danlu.gateway.tasks import Task
from danlu.gateway.terminals import KEPT_BYTES, Guest, Terminals
from danlu.testing.waiting import HANG_SECONDS, wait_until

HERE = Task("train-1", 1, 0, "node")


class Script(Channel):
    """Prints what it is given to print; None ends it."""

    def __init__(self) -> None:
        self.printed: queue.Queue[bytes | None] = queue.Queue()
        self.typed = b""
        self.is_closed = False

    def read(self, limit: int) -> bytes:
        return (self.printed.get() or b"")[:limit]

    def write(self, data: bytes) -> int:
        self.typed += data
        return len(data)

    def end_input(self) -> bool:
        return True

    def resize(self, size: TerminalSize) -> None:
        self.typed += f"{size.rows}x{size.columns}".encode()

    def exit_code(self) -> int:
        return 7

    def close(self) -> None:
        self.is_closed = True
        self.printed.put(None)


class Door:
    """An engine of which only the way into tasks matters."""

    def __init__(self) -> None:
        self.opened: list[Script] = []

    def open_channel(self, handle: Handle, command: object, terminal: TerminalSize | None) -> Channel:
        del handle, command, terminal
        self.opened.append(Script())
        return self.opened[-1]


def make(patience_seconds: float = HANG_SECONDS) -> tuple[Terminals, Door]:
    door = Door()
    return Terminals({"local": cast("Engine", door)}, patience_seconds=patience_seconds), door


def test_output_is_read_by_offset_and_may_be_read_again() -> None:
    terminals, door = make()
    name = terminals.open("local", HERE, guest=Guest(1), command=["sh"], size=None)
    terminal = terminals.get("train-1", name, user_id=1)
    door.opened[0].printed.put(b"hello")
    wait_until(lambda: terminal.read(0).data == b"hello", lambda: terminal.kept)
    assert terminal.read(0).data == b"hello"  # the answer was lost
    assert (terminal.read(3).data, terminal.read(3).next) == (b"lo", 5)
    door.opened[0].printed.put(None)
    wait_until(lambda: terminal.read(5).exit_code == 7, lambda: terminal.kept)
    assert terminal.read(5).data == b""


def test_who_prints_more_than_is_kept_waits_for_a_reader() -> None:
    terminals, door = make()
    terminal = terminals.get(
        "train-1", terminals.open("local", HERE, guest=Guest(1), command=["x"], size=None), user_id=1
    )
    piece = b"x" * 65536
    for _ in range(40):
        door.opened[0].printed.put(piece)
    door.opened[0].printed.put(None)
    after, read = 0, 0
    while terminal.read(after).exit_code is None:
        output = terminal.read(after)
        assert len(output.data) <= KEPT_BYTES + len(piece)
        read += output.next - after
        after = output.next
    read += terminal.read(after).next - after
    assert read == 40 * len(piece)


def test_only_who_opened_it_may_use_it() -> None:
    terminals, _ = make()
    name = terminals.open("local", HERE, guest=Guest(1), command=["sh"], size=(20, 70))
    for job, user in (("train-1", 2), ("train-2", 1)):
        with pytest.raises(NotFound):
            terminals.get(job, name, user_id=user)
    terminals.close(name)
    with pytest.raises(NotFound):
        terminals.get("train-1", name, user_id=1)


def test_one_that_is_left_alone_is_closed() -> None:
    terminals, door = make(patience_seconds=0.2)
    terminals.open("local", HERE, guest=Guest(1), command=["sh"], size=None)
    wait_until(lambda: door.opened[0].is_closed, lambda: door.opened)


def test_an_engine_that_lets_nobody_in_says_so() -> None:
    with pytest.raises(Unsupported, match="engine 'far' cannot open a shell"):
        Terminals({"far": cast("Engine", object())}).open("far", HERE, guest=Guest(1), command=["sh"], size=None)
