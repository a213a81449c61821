"""Threads for calls that may take long, such as to a task that does not answer: limited per job and per user."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar
from weakref import WeakValueDictionary

T = TypeVar("T")


class Turns:
    """For one event loop. A turn lasts until its thread is free, even if the caller was cancelled."""

    def __init__(self, num_threads: int, name: str) -> None:
        self._threads = ThreadPoolExecutor(num_threads, thread_name_prefix=name)
        self._turns: WeakValueDictionary[Hashable, asyncio.Semaphore] = WeakValueDictionary()

    async def call(self, function: Callable[[], T], at_once: Mapping[Hashable, int]) -> T:
        """Run a function in a thread. `at_once`: for each job or user it counts for, how many may run at a time."""
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
    """Close a socket whose caller was cancelled."""
    if done.cancelled() or done.exception() is not None:
        return
    made = done.result()
    if isinstance(made, socket.socket):
        made.close()
