"""A server whose console an admin signs in to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.conftest import end_server

from danlu.testing.serving import RunningServer

PASSWORD = "correct horse"
"""Of the admin."""


@contextmanager
def running_console(folder: Path, *options: str) -> Iterator[RunningServer]:
    running = RunningServer(folder, *options).start()
    with running.client() as client:
        client.set_password(PASSWORD)
    yield running
    end_server(running)
