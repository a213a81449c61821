"""The one policy: what is tried again, when, and for how long."""

from __future__ import annotations

import threading

import pytest

from danlu.transfer.errors import Disconnected, LocalProblem, NotConnected, Refused, ServerAway, Stopped
from danlu.transfer.retrying import Backoff, Retry

TEMPORARY = (408, 425, 429, 500, 502, 503, 504, 507, 522)
"""The last one is of a proxy, and not in any standard."""


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def least(low: float, _: float) -> float:
    return low


def middle(low: float, high: float) -> float:
    return (low + high) / 2


class TestBackoff:
    def test_pauses_double_up_to_a_limit_until_patience_is_over(self) -> None:
        clock = Clock()
        backoff = Backoff(8.0, first_seconds=1.0, longest_seconds=3.0, clock=clock, spread=middle)
        pauses = []
        while (pause := backoff.failed()) is not None:
            pauses.append(pause)
            clock.now += pause
        assert pauses == [1.0, 2.0, 3.0]

    def test_patience_counts_from_the_first_failure(self) -> None:
        clock = Clock()
        backoff = Backoff(1.0, first_seconds=0.5, clock=clock, spread=middle)
        clock.now = 1000.0  # a long transfer that went well so far
        assert backoff.failed() == 0.5

    def test_bytes_that_got_through_start_it_anew(self) -> None:
        clock = Clock()
        backoff = Backoff(1.0, first_seconds=0.5, clock=clock, spread=middle)
        assert backoff.failed() == 0.5
        clock.now += 5.0
        assert backoff.failed() is None
        backoff.reset()
        assert backoff.failed() == 0.5

    def test_pauses_are_spread(self) -> None:
        assert Backoff(9.0, first_seconds=1.0, spread=least).failed() == 0.7
        pauses = {Backoff(9.0, first_seconds=1.0).failed() for _ in range(50)}
        assert len(pauses) > 10
        assert all(pause is not None and 0.7 <= pause <= 1.3 for pause in pauses)

    def test_without_patience_there_is_one_try(self) -> None:
        assert Backoff(0.0).failed() is None


class Attempts:
    """Raises what it is given, one after the other, and then returns."""

    def __init__(self, *problems: Exception) -> None:
        self.problems = list(problems)
        self.num_calls = 0

    def __call__(self) -> str:
        self.num_calls += 1
        if self.problems:
            raise self.problems.pop(0)
        return "done"


class TestCall:
    @pytest.mark.parametrize(
        "problem",
        [Disconnected("broke"), NotConnected("nobody"), *(Refused(status, "x") for status in TEMPORARY)],
    )
    def test_what_may_pass_is_tried_again(self, problem: Exception) -> None:
        attempts = Attempts(problem, problem)
        said: list[str] = []
        assert Retry(30.0, say=said.append).call("it", attempts) == "done"
        assert (attempts.num_calls, len(said)) == (3, 2)

    @pytest.mark.parametrize(
        "problem",
        [*(Refused(status, "no") for status in (401, 404, 422, 501)), LocalProblem("x", OSError(28, "full"))],
    )
    def test_what_does_not_pass_is_raised_at_once(self, problem: Exception) -> None:
        attempts = Attempts(problem)
        with pytest.raises(type(problem)) as caught:
            Retry(30.0).call("it", attempts)
        assert (caught.value, attempts.num_calls) == (problem, 1)

    def test_a_problem_of_the_disk_is_not_one_of_the_network(self) -> None:
        attempts = Attempts(OSError(5, "disk"))
        with pytest.raises(OSError, match="disk"):
            Retry(30.0).call("it", attempts)
        assert attempts.num_calls == 1

    def test_at_the_end_of_patience_the_last_word_is_raised(self) -> None:
        with pytest.raises(Refused, match="busy"):
            Retry(0.0).call("it", Attempts(Refused(503, "busy")))
        with pytest.raises(ServerAway, match="broke"):
            Retry(0.0).call("it", Attempts(Disconnected("broke")))

    def test_progress_is_what_patience_waits_for(self) -> None:
        """More failures than patience alone would last for: each one came after some bytes."""
        done = 0

        def attempt() -> str:
            nonlocal done
            done += 1
            if done < 8:
                raise Disconnected("broke")
            return "done"

        assert Retry(0.15).call("it", attempt, progress=lambda: done) == "done"

    def test_what_must_not_happen_twice_is_tried_again_only_if_nothing_was_sent(self) -> None:
        assert Retry(30.0).call("it", Attempts(NotConnected("nobody")), is_repeatable=False) == "done"
        for problem in (Disconnected("broke"), Refused(503, "busy")):
            attempts = Attempts(problem)
            with pytest.raises((ServerAway, Refused)):
                Retry(30.0).call("it", attempts, is_repeatable=False)
            assert attempts.num_calls == 1

    def test_who_is_told_to_stop_does_not_wait(self) -> None:
        stop = threading.Event()
        attempts = Attempts(*(Disconnected("broke") for _ in range(100)))

        def say(_: str) -> None:
            stop.set()

        with pytest.raises(Stopped):
            Retry(3600.0, say=say).until(stop).call("it", attempts)
        assert attempts.num_calls == 1

    def test_a_server_that_never_answered_may_get_less_patience(self) -> None:
        retry = Retry(30.0, first_seconds=0.0)
        with pytest.raises(ServerAway):
            retry.call("it", Attempts(Disconnected("nobody")))
        retry.call("it", Attempts())
        assert retry.until(threading.Event()).call("it", Attempts(Disconnected("broke"))) == "done"

    def test_a_server_that_stays_full_is_waited_for_once(self) -> None:
        retry = Retry(0.3, first_seconds=0.0)
        retry.call("it", Attempts())
        for most in (100, 1, 1):
            full = Attempts(*(Refused(507, "full") for _ in range(100)))
            with pytest.raises(Refused):
                retry.call("it", full)
            assert (full.num_calls > 1, full.num_calls <= most) == (most > 1, True)
        retry.call("it", Attempts())
        assert retry.call("it", Attempts(Refused(507, "full"))) == "done"

    def test_a_refusal_may_get_less_patience_than_a_broken_connection(self) -> None:
        retry = Retry(30.0).hasty(0.0)
        assert retry.call("it", Attempts(Disconnected("broke"))) == "done"
        with pytest.raises(Refused):
            retry.call("it", Attempts(Disconnected("broke"), Refused(507, "full")))
        assert Retry(0.0).hasty(30.0).call("it", Attempts()) == "done"
        with pytest.raises(Refused):
            Retry(0.0).hasty(30.0).call("it", Attempts(Refused(507, "full")))
