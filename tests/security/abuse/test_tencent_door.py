"""The door for Tencent Cloud's SDK as somebody uses it who has no key: it answers before admission."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import event
from starlette.types import Message
from tests.support.abuse import Scene, serving
from tests.support.tencent import TencentSdk
from tests.support.world import Api, World

from danlu.server.admission.bodies import STRANGER_BYTES, Memory
from danlu.server.admission.middleware import Limits
from danlu.server.admission.turns import MAX_STRANGERS, Turns
from danlu.server.tencent.actions import load_actions
from danlu.server.tencent.door import MAX_HOST_CHARS, MAX_NAMES, Door
from danlu.testing.raw_http import RawConnection
from danlu.testing.waiting import wait_until

UNKNOWN = "dk-000000000000.secret"


@pytest.fixture
def scene(world: World) -> Iterator[Scene]:
    world.settings = world.settings.model_copy(update={"tencent_door": True})
    world.state = replace(world.state, settings=world.settings)
    with serving(world) as made:
        yield made


@pytest.fixture
def stranger(scene: Scene) -> Iterator[TencentSdk]:
    with TencentSdk(scene.url, UNKNOWN, scene.world.clock().timestamp()) as made:
        yield made


class SlowLookups:
    """Holds up every statement about the stranger's key."""

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.num_held = self.most_held = 0
        self._lock = threading.Lock()

    def __call__(self, _connection: Any, _cursor: Any, _statement: str, parameters: Any, *_: Any) -> None:
        if UNKNOWN.partition(".")[0].removeprefix("dk-") not in str(parameters):
            return
        with self._lock:
            self.num_held += 1
            self.most_held = max(self.most_held, self.num_held)
        self.go_on.wait()
        with self._lock:
            self.num_held -= 1

    @contextmanager
    def holding(self, world: World) -> Iterator[None]:
        event.listen(world.database.engine, "before_cursor_execute", self)
        try:
            yield
        finally:
            self.go_on.set()
            event.remove(world.database.engine, "before_cursor_execute", self)


def test_many_requests_leave_threads_to_the_others(scene: Scene, stranger: TencentSdk) -> None:
    body = b"{}"
    lookups = SlowLookups()
    scene.bob_works()  # from now on his key is known, and has turns of its own
    with ExitStack() as stack, lookups.holding(scene.world):
        held = [stack.enter_context(scene.raw()) for _ in range(60)]
        for number, connection in enumerate(held):
            if number % 2:
                post(connection, "POST", "/compat/tencent", stranger.action_headers("StopJob", body), body)
            else:
                post(connection, "GET", "/compat/tencent/cos/key", stranger.store_headers("GET", "key"))
        wait_until(lambda: lookups.num_held >= 4, lambda: lookups.num_held)
        scene.bob_works()
        assert lookups.most_held <= MAX_STRANGERS
        lookups.go_on.set()
        assert {connection.status() for connection in held} == {200, 403}
    assert lookups.most_held <= MAX_STRANGERS


def test_what_is_refused_is_counted(scene: Scene, stranger: TencentSdk) -> None:
    assert stranger.code("StopJob") == "AuthFailure.SecretIdNotFound"
    assert stranger.store("GET", "key").status_code == 403
    with Api(scene.url, scene.world.api_key()) as admin:
        told = admin.http.get(f"{scene.url}/metrics").text
    counted = [line.partition("{")[2] for line in told.splitlines() if line.startswith("danlu_http_requests_total{")]
    assert 'method="POST",route="/compat/tencent",status="200"} 1.0' in counted
    assert 'method="GET",route="/compat/tencent/cos",status="403"} 1.0' in counted


def test_a_host_name_that_is_none_is_not_searched_for_a_bucket(scene: Scene, stranger: TencentSdk) -> None:
    """The time of the search grew with the square of its length: many seconds, in which nobody was served."""
    headers = stranger.store_headers("GET", "key", Host="cos." * 40_000 + "!")
    answer = stranger.send_store("GET", "key", headers)
    assert (answer.status_code, f"at most {MAX_HOST_CHARS} characters" in answer.text) == (403, True)
    scene.bob_works()


@pytest.mark.parametrize(
    "names", [["x"] * 2, [f"x-{number}" for number in range(MAX_NAMES + 1)]], ids=["twice", "many"]
)
def test_a_signature_names_few_things_and_each_once(scene: Scene, stranger: TencentSdk, names: list[str]) -> None:
    """What it covers is put together for the check: a long header that is named 10,000 times took gigabytes."""
    headers = stranger.action_headers("StopJob", b"{}")
    listed = ";".join(["content-type", "host", *names])
    claim = headers["Authorization"].replace("SignedHeaders=content-type;host", f"SignedHeaders={listed}")
    told = stranger.post({**headers, "Authorization": claim}, b"{}")
    assert told["Error"]["Code"] == "AuthFailure.InvalidAuthorization"
    plain = stranger.store_headers("GET", "key")
    for field in ("q-header-list=host", "q-url-param-list="):
        more = f"{field};{';'.join(names)}".replace("=;", "=")
        claim = plain["Authorization"].replace(field, more)
        answer = stranger.send_store("GET", "key", {**plain, "Authorization": claim})
        assert (answer.status_code, "each named once" in answer.text) == (403, True), field


def test_bodies_that_nobody_signed_share_the_memory_of_their_address(scene: Scene) -> None:
    """The id of a key is no secret, so whoever knows one can have bodies read that are checked at their end."""
    with Api(scene.url, scene.eve) as api:
        key = api.json("POST", "/keys", json={"signs": True})["api_key"]
    body = b"x" * (STRANGER_BYTES + 1)
    with TencentSdk(scene.url, f"{key.partition('.')[0]}.wrong", scene.world.clock().timestamp()) as sdk:
        headers = {**sdk.action_headers("StopJob", body), "Content-Length": str(len(body))}
    told = asyncio.run(two_bodies(scene.world, headers, body))
    assert "RequestLimitExceeded" in told[1], "the second was read beside the first"
    assert "AuthFailure.SignatureFailure" in told[0]


async def two_bodies(world: World, headers: dict[str, str], body: bytes) -> list[str]:
    """The answers to two requests, the second of which comes while the first is being read; there is room for one."""
    limits = Limits(Turns(), Memory(STRANGER_BYTES, max_wait_seconds=0.01))
    door = Door(_nothing, world.state, load_actions(), limits)
    is_reading, is_complete = asyncio.Event(), asyncio.Event()

    async def slowly() -> Message:
        is_reading.set()
        await is_complete.wait()
        return {"type": "http.request", "body": body, "more_body": False}

    async def at_once() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    first = asyncio.create_task(_ask(door, headers, slowly))
    await is_reading.wait()
    second = await _ask(door, headers, at_once)
    is_complete.set()
    return [await first, second]


async def _ask(door: Door, headers: dict[str, str], receive: Any) -> str:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    pairs = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": "POST", "path": "/compat/tencent", "headers": pairs, "client": ("10.0.0.1", 1)}
    await door(scope, receive, send)
    return b"".join(message.get("body", b"") for message in sent).decode()


async def _nothing(_scope: Any, _receive: Any, _send: Any) -> None:
    raise AssertionError("the door answers this itself")


def post(connection: RawConnection, method: str, path: str, headers: dict[str, str], body: bytes = b"") -> None:
    lines = [f"{name}: {value}" for name, value in {**headers, "Content-Length": str(len(body))}.items()]
    connection.send("\r\n".join([f"{method} {path} HTTP/1.1", *lines, "", ""]).encode() + body)
