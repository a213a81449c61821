"""Shells on other nodes, as the server has them: nobody who types waits for a node."""

from __future__ import annotations

import threading
from typing import Any

from danlu.engines.base import TerminalSize
from danlu.engines.ray.shells import PIECE_BYTES, RayChannel
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
        self.said.append((action, *arguments))
        return min(len(arguments[0]), self.takes) if action == "write" else True


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

    channel = RayChannel(away, apart=True)
    assert channel.write(b"hello") == 5
    wait_until(channel.end_input)
    assert channel.read(10) == b""
    assert channel.read_errors(10) == b""
    channel.close()
