"""Programs that are started in a task when they are opened."""

from __future__ import annotations

from typing import Any, cast

import pytest
from tests.gateway.test_terminals import HERE, Script

from danlu.engines.base import Channel
from danlu.errors import Unsupported
from danlu.gateway.services import SERVICES, start
from danlu.gateway.tasks import Engines, Target


class Hangs(Script):
    """A job whose Python never comes to an end."""

    def exit_code(self) -> int:
        return 129


class Door:
    def __init__(self, channel: Script) -> None:
        self.channel = channel

    def open_channel(self, *_words: Any, **_options: Any) -> Channel:
        return self.channel


def test_a_python_that_hangs_holds_no_thread() -> None:
    channel = Hangs()
    engines = cast("Engines", {"local": Door(channel)})
    target = Target("local", HERE, 28888, "jupyter")
    with pytest.raises(Unsupported, match="jupyter cannot be started in train-1: it ended with 129"):
        start(engines, target, service=SERVICES["jupyter"], begin_seconds=0.05)
    assert channel.is_closed
