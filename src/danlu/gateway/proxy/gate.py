"""Who may use an endpoint: the gate that the proxy asks, and a short cache of its answers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from concurrent.futures import Executor
from typing import Protocol

from danlu.errors import DanluError
from danlu.gateway.proxy.names import Place
from danlu.gateway.tasks import Admitted

REMEMBERED_SECONDS = 2.0
"""A page loads a hundred files at once, so answers are cached; revoked rights take effect this much later."""

MAX_REMEMBERED = 10_000


class Gate(Protocol):
    """Decides with the database; called in threads. `place` is None where only the grant names the endpoint."""

    def enter(self, place: Place | None, link: str) -> str:
        """Exchange a link for the value of a cookie. Raise NotSignedIn, or what `admit` raises."""
        ...

    def admit(self, place: Place | None, cookies: Sequence[str]) -> Admitted:
        """Raise NotSignedIn without a valid cookie of this endpoint, NotAllowed, NotFound, WrongState otherwise."""
        ...


class Memory:
    """Asks the gate at most every two seconds about the same cookies. For one event loop."""

    def __init__(self, gate: Gate, threads: Executor) -> None:
        self._gate, self._threads = gate, threads
        self._known: dict[tuple[Place | None, tuple[str, ...]], tuple[float, Admitted]] = {}

    async def enter(self, place: Place | None, link: str) -> str:
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._gate.enter, place, link)

    async def admit(self, place: Place | None, cookies: Sequence[str]) -> Admitted:
        """Raise DanluError. Rejections are not cached: they are rare, and must end when rights are granted."""
        key = (place, tuple(cookies))
        until, admitted = self._known.get(key, (0.0, None))
        if admitted is not None and time.monotonic() < until:
            return admitted
        try:
            admitted = await asyncio.get_running_loop().run_in_executor(
                self._threads, self._gate.admit, place, list(cookies)
            )
        except DanluError:
            self._known.pop(key, None)
            raise
        if len(self._known) >= MAX_REMEMBERED:
            self._known.clear()
        self._known[key] = (time.monotonic() + REMEMBERED_SECONDS, admitted)
        return admitted
