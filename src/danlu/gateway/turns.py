"""Threads for what may take long, such as a task that does not answer: so many at a time for one job, or one person."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar
from weakref import WeakValueDictionary

T = TypeVar("T")


class Turns:
    """For one event loop. A turn lasts until its thread is free, also when nobody waits for it any more."""

    def __init__(self, num_threads: int, name: str) -> None:
        self._threads = ThreadPoolExecutor(num_threads, thread_name_prefix=name)
        self._turns: WeakValueDictionary[Hashable, asyncio.Semaphore] = WeakValueDictionary()

    async def call(self, function: Callable[[], T], at_once: Mapping[Hashable, int]) -> T:
        """Call it in a thread. `at_once`: for whom it is, and how many of theirs are called at a time."""
        taken: list[asyncio.Semaphore] = []
        try:
            for whom, most in at_once.items():
                turn = self._turns.setdefault(whom, asyncio.Semaphore(most))
                await turn.acquire()
                taken.append(turn)
            running = asyncio.get_running_loop().run_in_executor(self._threads, function)
        except BaseException:
            _give_back(taken)
            raise
        running.add_done_callback(lambda _: _give_back(taken))
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            running.add_done_callback(_let_go)
            raise

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


def _give_back(turns: list[asyncio.Semaphore]) -> None:
    for turn in turns:
        turn.release()


def _let_go(done: asyncio.Future[T]) -> None:
    """Nobody takes what came of it."""
    if done.cancelled() or done.exception() is not None:
        return
    made = done.result()
    if isinstance(made, socket.socket):
        made.close()
