"""Threads that share work: all of it is done, or the first problem is raised and nobody goes on."""

from __future__ import annotations

import threading

import pytest

from danlu.transfer.crew import Crew
from danlu.transfer.errors import Stopped


def test_all_is_done_at_the_end() -> None:
    done: list[int] = []
    with Crew(done.append, 3) as crew:
        for number in range(100):
            crew.put(number)
    assert sorted(done) == list(range(100))


def test_the_first_problem_is_raised_and_the_rest_is_not_begun() -> None:
    begun: list[int] = []

    def work(number: int) -> None:
        begun.append(number)
        if number == 3:
            raise LookupError("three")

    def run() -> None:
        with Crew(work, 1) as crew:
            for number in range(100):
                crew.put(number)

    with pytest.raises(LookupError, match="three"):
        run()
    assert begun == [0, 1, 2, 3]


def test_who_moves_bytes_is_ended_by_the_failure_of_another() -> None:
    has_failed = threading.Event()
    ends: list[type[BaseException]] = []

    def work(number: int) -> None:
        if number == 0:
            raise LookupError("zero")
        assert has_failed.wait()
        tell = crew.told(lambda *_: None)
        try:
            tell("x", -5, True)  # what is taken back may be said
            tell("x", 5, True)
        except Stopped:
            ends.append(Stopped)
            raise

    def run() -> None:
        with crew:
            crew.put(1)
            crew.put(0)
            assert crew.has_failed.wait()
            has_failed.set()

    crew = Crew(work, 2)
    with pytest.raises(LookupError, match="zero"):
        run()
    assert ends == [Stopped]


def test_a_problem_of_who_hands_over_ends_all() -> None:
    begun = threading.Event()
    is_over = threading.Event()

    def work(_: int) -> None:
        begun.set()
        assert crew.has_failed.wait()
        is_over.set()

    def run() -> None:
        with crew:
            crew.put(1)
            assert begun.wait()
            raise KeyboardInterrupt

    crew = Crew(work, 2)
    with pytest.raises(KeyboardInterrupt):
        run()
    assert is_over.is_set()
