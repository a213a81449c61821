"""What all tests share: a real server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from danlu.client import Client
from danlu.spec.states import is_over
from danlu.testing.serving import RunningServer


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """One server for all tests that do not hurt it. It pretends to have 8 NPUs."""
    running = RunningServer(tmp_path_factory.mktemp("shared") / "data", "--simulate", "npu:910b:8").start()
    yield running
    end_server(running)


@pytest.fixture
def client(server: RunningServer) -> Iterator[Client]:
    with server.client() as client:
        yield client


@pytest.fixture
def make_server(tmp_path: Path) -> Iterator[Callable[..., RunningServer]]:
    """Start servers of one's own, to be killed and restarted."""
    made: list[RunningServer] = []

    def make(*options: str) -> RunningServer:
        made.append(RunningServer(tmp_path / f"data{len(made)}", *options).start())
        return made[-1]

    yield make
    for running in made:
        end_server(running)


def end_server(running: RunningServer) -> None:
    """Stop what is left of jobs, then the server: tests leave nothing running."""
    running.stop()
    running.start()
    with running.client() as client:
        left = [job.id for job in client.jobs.list() if not is_over(job.state)]
        if left:
            client.jobs.stop(left)
            for job_id in left:
                client.jobs.get(job_id).wait(timeout=60)
    running.stop()
