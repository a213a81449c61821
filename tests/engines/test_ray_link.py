"""The server's line to the process that speaks to Ray, when that process hangs. It is stopped before it has begun."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from danlu.engines.ray.link import Link
from danlu.errors import EngineUnavailable, EngineUnreachable
from danlu.testing.waiting import wait_until

MORE_THAN_FITS = b"x" * (16 << 20)


@pytest.fixture
def link() -> Iterator[Link]:
    made = Link({}, send_seconds=0.5, hung_seconds=0.9)
    yield made
    made.close()


def drivers() -> set[int]:
    """Those of this process."""
    found = set()
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == os.getpid() and b"danlu.engines.ray.driver" in (path / "cmdline").read_bytes():
                found.add(int(path.name))
        except OSError:  # it has just ended
            continue
    return found


@pytest.fixture
def known() -> set[int]:
    """Those that were there before."""
    return drivers()


def stop_the_next(known: set[int]) -> threading.Thread:
    """Stop the next driver that is started."""

    def stop() -> None:
        (new,) = wait_until(lambda: drivers() - known, longest_pause_seconds=0.001)
        os.kill(new, signal.SIGSTOP)

    thread = threading.Thread(target=stop)
    thread.start()
    return thread


def test_a_driver_that_hangs_is_ended_and_started_again(link: Link, known: set[int]) -> None:
    stopping = stop_the_next(known)
    with pytest.raises(EngineUnreachable, match=r"did not answer within 1 s \(nodes\)"):
        link.ask("nodes", seconds=1.0)
    stopping.join()
    wait_until(lambda: not drivers() - known)

    def is_started_again() -> bool:
        with pytest.raises(EngineUnavailable):
            link.ask("nodes", seconds=0.1)
        return bool(drivers() - known)

    wait_until(is_started_again)


def test_one_that_takes_no_requests_is_ended(link: Link, known: set[int]) -> None:
    """Whoever has more to say than fits into the line does not wait for ever, and holds up nobody behind him."""
    stopping = stop_the_next(known)
    with pytest.raises(EngineUnavailable, match="has ended"):
        link.ask("call", MORE_THAN_FITS, seconds=1.0)
    stopping.join()
    wait_until(lambda: not drivers() - known)
