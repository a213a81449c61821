"""Turns at work that takes a core: so many at once, few who wait, and the rest told to come back."""

from __future__ import annotations

import threading

import pytest

from danlu.auth.turns import Turns
from danlu.errors import TooManyRequests
from danlu.testing.waiting import HANG_SECONDS, wait_until


def test_who_finds_no_turn_in_time_is_told_when_to_come_back() -> None:
    turns = Turns(num_at_once=1, max_waiting=1, wait_seconds=0.05)
    with (
        turns.take(),
        pytest.raises(TooManyRequests, match="too many sign-ins at the moment; try again in 1 seconds") as refused,
        turns.take(),
    ):
        pytest.fail("there is one turn only")
    assert refused.value.retry_after_seconds == 1
    with turns.take():
        pass


def test_only_a_few_wait() -> None:
    turns = Turns(num_at_once=1, max_waiting=2, wait_seconds=HANG_SECONDS)
    waiting: list[str] = []

    def wait() -> None:
        with turns.take():
            waiting.append("had a turn")

    with turns.take():
        threads = [threading.Thread(target=wait) for _ in range(2)]
        for thread in threads:
            thread.start()
        wait_until(lambda: turns.num_free_places == 0)
        with pytest.raises(TooManyRequests), turns.take():
            pytest.fail("the third may not even wait")
    for thread in threads:
        thread.join()
    assert len(waiting) == 2


def test_a_turn_is_given_back_when_the_work_fails() -> None:
    turns = Turns(num_at_once=1, max_waiting=0, wait_seconds=0.01)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError), turns.take():
            _ = 1 / 0
    with turns.take():
        pass
