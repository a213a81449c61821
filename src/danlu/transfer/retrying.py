"""The one policy of trying again: what, when, and for how long.

Retried are temporary failures: a broken connection, a server that is starting, busy or full. The first
pause is short, each one is twice as long as the one before, up to a limit, and spread, so that the tasks of a gang do
not all come back in the same moment. Patience counts from the first failure; progress resets it.
"""

from __future__ import annotations

import copy
import random
import threading
import time
from typing import Callable, Optional, TypeVar

from danlu.transfer.errors import Disconnected, NotConnected, Refused, ServerAway, Stopped

FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.1, 10.0
SPREAD = (0.7, 1.3)

T = TypeVar("T")


def quiet(_line: str) -> None:
    """A listener that prints nothing."""


class Backoff:
    """How long to wait after each failure. It does not sleep itself: for loops that do other work meanwhile."""

    def __init__(
        self,
        patience_seconds: float,
        *,
        first_seconds: float = FIRST_PAUSE_SECONDS,
        longest_seconds: float = LONGEST_PAUSE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        spread: Callable[[float, float], float] = random.uniform,
    ) -> None:
        self._patience_seconds = patience_seconds
        self._first_seconds = first_seconds
        self._longest_seconds = longest_seconds
        self._clock = clock
        self._spread = spread
        self.reset()

    def reset(self) -> None:
        """Something got through."""
        self._pause = self._first_seconds
        self._give_up_at: Optional[float] = None

    def failed(self) -> Optional[float]:
        """Seconds until the next try; None when patience is over."""
        now = self._clock()
        if self._give_up_at is None:
            self._give_up_at = now + self._patience_seconds
        pause = self._pause * self._spread(*SPREAD)
        if now + pause > self._give_up_at:
            return None
        self._pause = min(self._longest_seconds, self._pause * 2)
        return pause


class Retry:
    """Calls a function until it succeeds, patience is over, or `stop` is set."""

    def __init__(
        self,
        patience_seconds: float,
        *,
        first_seconds: Optional[float] = None,
        say: Callable[[str], None] = quiet,
        stop: Optional[threading.Event] = None,
    ) -> None:
        """`first_seconds`: the patience with a server that has not answered yet, or was waited for in vain; the same
        when left out. With 0, a hundred calls do not wait for a full disk one after the other."""
        self._patience_seconds = patience_seconds
        self._first_seconds = patience_seconds if first_seconds is None else first_seconds
        self._say = say
        self._stop = stop or threading.Event()
        self._refusal_seconds: Optional[float] = None
        self._has_answered = threading.Event()
        """Shared by all copies, as the server is the same."""

    def until(self, stop: threading.Event) -> Retry:
        """The same policy, ended by an event."""
        same = copy.copy(self)
        same._stop = stop
        return same

    def hasty(self, seconds: float) -> Retry:
        """The same policy, with less patience for temporary refusals. Broken connections are waited for as before."""
        same = copy.copy(self)
        same._refusal_seconds = seconds
        return same

    def call(
        self,
        what: str,
        attempt: Callable[[], T],
        *,
        progress: Callable[[], int] = lambda: 0,
        is_repeatable: bool = True,
    ) -> T:
        """Return what the attempt returns. `progress` is a number that grows as bytes get through.

        When patience is over, an answer of the server is raised as Refused and anything else as ServerAway. What must
        not happen twice is tried again only if nothing was sent. Raise Stopped when told to stop.
        """
        broken, refusals, done = *self._backoffs(), progress()
        while True:
            if self._stop.is_set():
                raise Stopped
            try:
                result = attempt()
                self._has_answered.set()
                return result
            except Refused as refused:
                if not refused.is_temporary:
                    self._has_answered.set()
                if not refused.is_temporary or not is_repeatable:
                    raise
                problem: Exception = refused
                backoff, told = refusals, f"{refused.status} {refused.message}"
            except Disconnected as error:
                if not is_repeatable and not isinstance(error, NotConnected):
                    raise ServerAway(*error.args) from error
                problem, backoff, told = error, broken, str(error)
            if progress() != done:
                broken.reset()
                refusals.reset()
                done = progress()
            pause = backoff.failed()
            if pause is None:
                self._has_answered.clear()
                if isinstance(problem, Refused):
                    raise problem
                raise ServerAway(told) from problem
            self._say(f"{what}: {told}; trying again in {pause:.1f} s")
            self._stop.wait(pause)

    def _backoffs(self) -> tuple[Backoff, Backoff]:
        """For broken connections and for refusals; the same one unless refusals have a patience of their own."""
        patience = self._patience_seconds if self._has_answered.is_set() else self._first_seconds
        broken = Backoff(patience)
        if self._refusal_seconds is None:
            return broken, broken
        return broken, Backoff(min(patience, self._refusal_seconds))
