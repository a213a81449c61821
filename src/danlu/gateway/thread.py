"""An event loop in a thread of its own, so that traffic of the gateway does not delay other requests."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

log = logging.getLogger(__name__)
STOP_SECONDS = 5.0

Service = Callable[[], Coroutine[Any, Any, None]]


class GatewayThread:
    """Runs services until it is stopped."""

    def __init__(self, services: Sequence[Service]) -> None:
        self._services = services
        self._loop = asyncio.new_event_loop()
        self._tasks: list[asyncio.Task[None]] = []
        self._thread = threading.Thread(target=self._run, name="gateway", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Close all connections. Does nothing if it was not started."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(lambda: [task.cancel() for task in self._tasks])
            self._thread.join(STOP_SECONDS)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve())
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()

    async def _serve(self) -> None:
        self._tasks = [asyncio.ensure_future(service()) for service in self._services]
        for outcome in await asyncio.gather(*self._tasks, return_exceptions=True):
            if isinstance(outcome, Exception):
                log.error("a part of the gateway ended: %s", outcome, exc_info=outcome)
        left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
