"""Shells on other nodes, as the server has them: nobody who types waits for a node."""

from __future__ import annotations

import itertools
import queue
import threading
from typing import Any

import pytest

from danlu.engines.base import Channel, TerminalSize
from danlu.engines.ray.shells import MAX_OPEN_OF_JOB, PIECE_BYTES, RayChannel, Shells
from danlu.errors import EngineUnavailable
from danlu.testing.waiting import wait_until


class Node:
    """Takes what is typed, once it answers."""

    def __init__(self) -> None:
        self.answers = threading.Event()
        self.said: list[tuple[Any, ...]] = []
        self.takes = PIECE_BYTES

    def __call__(self, action: str, *arguments: Any) -> Any:
        if action == "close":
            return None
        self.answers.wait()
        if action == "write":
            _, data = arguments
            self.said.append((action, data))
            return min(len(data), self.takes)
        self.said.append((action, *arguments))
        return True


def test_typing_does_not_wait_for_the_node() -> None:
    """The event loop of the server calls it: all others would wait as well."""
    node = Node()
    channel = RayChannel(node, apart=False)
    assert channel.write(b"one ") == 4
    assert channel.write(b"two") == 3
    channel.resize(TerminalSize(30, 90))
    assert not channel.end_input()  # the node has not got what came before
    assert channel.write(b"x" * PIECE_BYTES) == PIECE_BYTES - 7
    assert channel.write(b"more") == 0
    node.answers.set()
    wait_until(channel.end_input)
    wait_until(lambda: ("end_input",) in node.said)
    typed = b"".join(words[1] for words in node.said if words[0] == "write")
    assert typed.startswith(b"one two")
    assert len(typed) == PIECE_BYTES
    assert ("resize", 30, 90) in node.said
    channel.close()


def test_what_a_command_does_not_take_is_kept_for_it() -> None:
    node = Node()
    node.answers.set()
    node.takes = 0
    channel = RayChannel(node, apart=False)
    assert channel.write(b"wait") == 4
    wait_until(lambda: node.said)
    node.takes = 2
    wait_until(channel.end_input)
    assert [words[1] for words in node.said if words[0] == "write" and words[1] != b"wait"] == [b"it"]
    channel.close()
    assert channel.write(b"after its end") == 13


def test_a_node_that_is_away_takes_everything() -> None:
    def away(action: str, *_arguments: Any) -> Any:
        raise EngineUnavailable(f"it does not answer ({action})")

    channel = RayChannel(away, apart=True, patience_seconds=0.0)
    assert channel.write(b"hello") == 5
    wait_until(channel.end_input)
    assert channel.read(10) == b""
    assert channel.read_errors(10) == b""
    channel.close()


class Echo(Channel):
    """Says what is typed."""

    def __init__(self) -> None:
        self.pieces: queue.Queue[bytes] = queue.Queue()

    def read(self, limit: int) -> bytes:
        return self.pieces.get()[:limit]

    def write(self, data: bytes) -> int:
        self.pieces.put(data)
        return len(data)

    def end_input(self) -> bool:
        self.pieces.put(b"")
        return True

    def resize(self, size: TerminalSize) -> None:
        self.pieces.put(repr(tuple(size)).encode())

    def exit_code(self) -> int:
        return 0

    def close(self) -> None:
        self.pieces.put(b"")


def test_on_a_busy_node_nothing_is_lost_and_nothing_comes_twice() -> None:
    """Every second answer comes too late. Somebody with many shells on the node ends nobody else's."""
    shells, turns = Shells(), itertools.cycle((True, False))
    name = shells.add("job", Echo(), apart=False)

    def busy(action: str, *arguments: Any) -> Any:
        answer = shells.do(name, action, *arguments)
        if next(turns):
            raise EngineUnavailable("no answer in time")
        return answer

    channel = RayChannel(busy, apart=False)
    said = b""
    for number in range(50):
        typed = f"line {number}\n".encode()
        assert channel.write(typed) == len(typed)
        said += channel.read(1000)
    wait_until(channel.end_input)
    while piece := channel.read(1000):
        said += piece
    assert said.decode().splitlines() == [f"line {number}" for number in range(50)]
    channel.close()


def test_one_job_does_not_take_all_the_room_of_a_node() -> None:
    shells = Shells()
    opened = [shells.add("greedy", Echo(), apart=False) for _ in range(MAX_OPEN_OF_JOB)]
    one_more = Echo()
    with pytest.raises(EngineUnavailable, match=f"expected at most {MAX_OPEN_OF_JOB} shells and connections to greedy"):
        shells.add("greedy", one_more, apart=False)
    assert one_more.pieces.get_nowait() == b""  # it was closed
    shells.do(shells.add("other", Echo(), apart=False), "close")
    shells.do(opened.pop(), "close")
    opened.append(shells.add("greedy", Echo(), apart=False))
    for name in opened:
        shells.do(name, "close")
