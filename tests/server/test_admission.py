"""Whose turn it is, and what one person may have at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from danlu.errors import TooManyRequests
from danlu.server.admission.bodies import Memory
from danlu.server.admission.fair_pool import FairPool
from danlu.server.admission.slots import Slots
from danlu.server.admission.turns import JOBS, MAX_ALONE, MAX_SHARED, MAX_TOTAL, Turn, Turns


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(work)


async def settle() -> None:
    """Let every task go as far as it can."""
    for _ in range(20):
        await asyncio.sleep(0)


class TestTurns:
    def test_somebody_who_is_alone_has_many(self) -> None:
        async def work() -> None:
            turns = Turns()
            held = [await turns.take("eve") for _ in range(MAX_ALONE)]
            waits = asyncio.create_task(turns.take("eve"))
            await settle()
            assert not waits.done()
            turns.end(held[0])
            await waits

        run(work())

    def test_another_person_does_not_wait_behind_all_of_hers(self) -> None:
        async def work() -> None:
            turns = Turns()
            held = [await turns.take("eve") for _ in range(MAX_ALONE)]
            waiting = [asyncio.create_task(turns.take("eve")) for _ in range(100)]
            await settle()
            await turns.take("bob")  # at once
            for turn in held:
                turns.end(turn)
            await settle()
            assert sum(task.done() for task in waiting) == 1  # while Bob is there she has one at a time

        run(work())

    def test_a_request_that_takes_long_does_not_hold_up_her_others(self) -> None:
        async def work() -> None:
            turns = Turns()
            await turns.take("bob")
            await turns.take("eve")  # takes for ever
            await turns.take("eve")

        run(work())

    def test_the_jobs_of_a_person_are_one(self) -> None:
        """However many she has: they take a few turns at a time, and wait in numbers."""

        async def work() -> None:
            turns = Turns(max_waiting=2)
            await turns.take("bob")
            for _ in range(MAX_SHARED):
                await turns.take(f"{JOBS}1")
            waiting = [asyncio.create_task(turns.take(f"{JOBS}1")) for _ in range(1000)]
            await settle()
            assert not any(task.done() for task in waiting)
            await turns.take(f"{JOBS}2")  # at once
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

        run(work())

    def test_all_together_are_not_more_than_there_are_threads_for(self) -> None:
        async def work() -> None:
            turns = Turns()
            for number in range(MAX_TOTAL):
                await turns.take(f"person {number}")
            waits = asyncio.create_task(turns.take("one more"))
            await settle()
            assert not waits.done()
            waits.cancel()

        run(work())

    def test_too_many_who_wait_are_told_to_come_back(self) -> None:
        async def work() -> None:
            turns = Turns(max_waiting=2, max_wait_seconds=60.0)
            for _ in range(MAX_ALONE):
                await turns.take("eve")
            tasks = [asyncio.create_task(turns.take("eve")) for _ in range(2)]
            await settle()
            with pytest.raises(TooManyRequests, match="too many requests at a time: 2 of your requests wait") as told:
                await turns.take("eve")
            assert told.value.retry_after_seconds == 2
            for task in tasks:
                task.cancel()

        run(work())

    def test_who_waits_too_long_is_told_so_and_leaves_nothing(self) -> None:
        async def work() -> None:
            turns = Turns(max_wait_seconds=0.01)
            held = [await turns.take("eve") for _ in range(MAX_ALONE)]
            with pytest.raises(TooManyRequests, match="this one waited for 0 s behind others of yours"):
                await turns.take("eve")
            for turn in held:
                turns.end(turn)
            assert turns._num_under_way == 0
            assert not turns._people["eve"].waiting

        run(work())

    def test_a_turn_that_is_given_to_somebody_who_left_is_not_lost(self) -> None:
        async def work() -> None:
            turns = Turns()
            held = [await turns.take("eve") for _ in range(MAX_ALONE)]
            tasks = [asyncio.create_task(turns.take("eve")) for _ in range(50)]
            await settle()
            for turn in held:
                turns.end(turn)  # given in this moment
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            assert turns._num_under_way == 0
            turns.end(Turn("nobody"))  # quiet

        run(work())


class TestFairPool:
    def test_one_person_has_one_thread_at_a_time(self) -> None:
        async def work() -> None:
            pool = FairPool(2, "test")
            order: list[str] = []
            gate = asyncio.Event()

            def note(name: str) -> None:
                order.append(name)

            async def many(person: str, count: int) -> None:
                await gate.wait()
                await asyncio.gather(*(pool.run(person, note, person) for _ in range(count)))

            tasks = [asyncio.create_task(many("eve", 100)), asyncio.create_task(many("bob", 3))]
            await settle()
            gate.set()
            await asyncio.gather(*tasks)
            assert order.count("eve") == 100
            assert "bob" not in order[20:]  # his pieces come in turn with hers

        run(work())

    def test_a_piece_that_fails_gives_its_turn_back(self) -> None:
        async def work() -> None:
            pool = FairPool(1, "test")
            for _ in range(5):
                with pytest.raises(ZeroDivisionError):
                    await pool.run("eve", lambda: 1 / 0)
            assert await pool.run("eve", lambda: "fine") == "fine"

        run(work())

    def test_those_who_leave_while_they_wait_are_passed_over(self) -> None:
        async def work() -> None:
            pool = FairPool(1, "test")
            blocked = asyncio.Event()
            loop = asyncio.get_running_loop()
            first = asyncio.create_task(
                pool.run("eve", lambda: asyncio.run_coroutine_threadsafe(blocked.wait(), loop).result())
            )
            await settle()
            waiting = [asyncio.create_task(pool.run("eve", int)) for _ in range(5)]
            await settle()
            for task in waiting:
                task.cancel()
            blocked.set()
            await first
            assert await pool.run("eve", lambda: 7) == 7

        run(work())


class TestMemory:
    def test_bodies_wait_for_room_in_the_order_they_came(self) -> None:
        async def work() -> None:
            memory = Memory(100)
            await memory.reserve("eve", 60)
            order: list[int] = []

            async def take(size: int) -> None:
                await memory.reserve("eve", size)
                order.append(size)

            tasks = [asyncio.create_task(take(size)) for size in (50, 10)]
            await settle()
            assert order == []  # 10 would fit, and does not overtake
            await memory.reserve("bob", 100)
            memory.release("eve", 60)
            await asyncio.gather(*tasks)
            assert order == [50, 10]

        run(work())

    def test_one_that_is_larger_than_all_goes_alone(self) -> None:
        async def work() -> None:
            memory = Memory(100)
            await memory.reserve("eve", 500)
            waits = asyncio.create_task(memory.reserve("eve", 1))
            await settle()
            assert not waits.done()
            memory.release("eve", 500)
            await waits

        run(work())

    def test_who_waits_too_long_is_told_so(self) -> None:
        async def work() -> None:
            memory = Memory(1 << 20, max_wait_seconds=0.01)
            await memory.reserve("eve", 1 << 20)
            with pytest.raises(TooManyRequests, match=r"1.0 MiB of yours are on their way already; try again in 5 s"):
                await memory.reserve("eve", 1)
            memory.release("eve", 1 << 20)
            await memory.reserve("eve", 1 << 20)

        run(work())


class TestSlots:
    def test_each_person_has_so_many(self) -> None:
        slots = Slots("streams", 2)
        for person in ("eve", "eve", "bob"):
            slots.take(person)
        with pytest.raises(TooManyRequests, match="you have 2 streams open, which is the maximum; close one first"):
            slots.take("eve")
        slots.give_back("eve")
        with slots.taken("eve"):
            pass
        slots.take("eve")
