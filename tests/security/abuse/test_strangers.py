"""People who are not signed in, with many addresses or with the help of a provider that does not answer."""

from __future__ import annotations

import asyncio
import socket
import threading
import time

from danlu.errors import DanluError, TooManyRequests, Unavailable
from danlu.server.admission.turns import MAX_STRANGERS, STRANGER, Turns
from danlu.server.oidc.provider import Provider
from danlu.testing.waiting import HANG_SECONDS, wait_until


class TestManyAddresses:
    def test_however_many_they_are_people_have_turns(self) -> None:
        async def work() -> None:
            turns = Turns()
            strangers = [asyncio.create_task(turns.take(f"{STRANGER}10.0.0.{number}")) for number in range(100)]
            await asyncio.wait(strangers[:MAX_STRANGERS])
            for number in range(10):
                await turns.take(f"user {number}")  # at once
            begun = [task.result() for task in strangers if task.done()]
            assert len(begun) == MAX_STRANGERS
            turns.end(begun[0])
            await asyncio.wait([task for task in strangers if not task.done()], return_when=asyncio.FIRST_COMPLETED)
            assert sum(task.done() for task in strangers) == MAX_STRANGERS + 1
            for task in strangers:
                task.cancel()

        asyncio.run(asyncio.wait_for(work(), HANG_SECONDS))


class TestProviderThatDoesNotAnswer:
    def test_it_holds_few_threads(self) -> None:
        """Each of those who begin to sign in would hold a thread for ten seconds, one after the other."""
        with socket.create_server(("127.0.0.1", 0), backlog=100) as silent:
            provider = Provider(f"http://127.0.0.1:{silent.getsockname()[1]}", "danlu", None, now=time.time)
            told: list[DanluError] = []

            def begin() -> None:
                try:
                    provider.sign_in_url(redirect_uri="x", state="x", nonce="x", verifier="x")
                except DanluError as error:
                    told.append(error)

            threads = [threading.Thread(target=begin) for _ in range(40)]
            for thread in threads:
                thread.start()
            wait_until(lambda: len(told) >= 32, lambda: told)
            assert {type(error) for error in told} == {TooManyRequests}, "the others were told to come back"
        for thread in threads:  # the connections of those who waited are closed with the socket
            thread.join()
        assert {type(error) for error in told} <= {TooManyRequests, Unavailable}
