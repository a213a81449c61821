"""Threads that wait for tasks: nobody takes those of others."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Coroutine
from typing import Any

import pytest

from danlu.gateway.turns import Turns


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(work)


class TestTurns:
    def test_what_one_waits_for_does_not_take_the_threads_of_others(self) -> None:
        async def work() -> None:
            turns, answers = Turns(4, "test"), threading.Event()
            waiting = [asyncio.ensure_future(turns.call(answers.wait, {"eve": 2})) for _ in range(50)]
            assert await turns.call(lambda: "done", {"bob": 2}) == "done"
            answers.set()
            assert all(await asyncio.gather(*waiting))
            turns.close()

        run(work())

    def test_a_thread_counts_after_nobody_waits_for_it(self) -> None:
        """Whoever gives up and asks again, again and again, has no more than before."""

        async def work() -> None:
            turns, answers, begun = Turns(4, "test"), threading.Event(), threading.Semaphore(0)

            def wait() -> None:
                begun.release()
                answers.wait()

            for _ in range(20):
                asked = asyncio.ensure_future(turns.call(wait, {"eve": 2, "her job": 1}))
                await asyncio.sleep(0)
                asked.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await asked
            assert await turns.call(lambda: "done", {"bob": 2, "his job": 1}) == "done"
            answers.set()
            assert await turns.call(lambda: "again", {"eve": 2, "her job": 1}) == "again"
            assert begun.acquire(blocking=False)
            assert not begun.acquire(blocking=False)  # one thread in all
            turns.close()

        run(work())

    def test_a_connection_that_nobody_takes_is_closed(self) -> None:
        async def work() -> None:
            turns, answers = Turns(1, "test"), threading.Event()
            ours, theirs = socket.socketpair()

            def connect() -> socket.socket:
                answers.wait()
                return theirs

            asked = asyncio.ensure_future(turns.call(connect, {"eve": 1}))
            await asyncio.sleep(0)
            asked.cancel()
            await asyncio.gather(asked, return_exceptions=True)
            answers.set()
            await turns.call(lambda: None, {"eve": 1})
            await asyncio.sleep(0)
            with ours:
                assert ours.recv(1) == b""
            turns.close()

        run(work())

    def test_a_failure_gives_the_turn_back(self) -> None:
        async def work() -> None:
            turns = Turns(1, "test")
            for _ in range(3):
                with pytest.raises(ZeroDivisionError):
                    await turns.call(lambda: 1 // 0, {"eve": 1})
            turns.close()

        run(work())
