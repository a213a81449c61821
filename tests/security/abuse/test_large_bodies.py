"""Large bodies take a shorter way than h11: what goes wrong on it ends as it does elsewhere."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from tests.support.abuse import Scene, serving
from tests.support.world import Api, World

from danlu.server.bodies.receiving import PIECE_BYTES
from danlu.server.protocol import MIN_DIRECT_BYTES
from danlu.testing.waiting import wait_until

KEY = "/api/v1/buckets/eves/objects/large"
SIZES = (
    MIN_DIRECT_BYTES - 1,
    MIN_DIRECT_BYTES,
    MIN_DIRECT_BYTES + 1,
    PIECE_BYTES,
    PIECE_BYTES + 1,
    3 * PIECE_BYTES + 7,
)


@pytest.fixture
def hasty(world: World) -> Iterator[Scene]:
    with serving(world, request_seconds=1.0, reading_seconds=1.0) as made:
        yield made


@pytest.mark.parametrize("size", SIZES)
def test_what_follows_a_body_at_once_is_the_next_request(scene: Scene, size: int) -> None:
    chance = random.Random(size)
    data = chance.randbytes(size)
    following = b"GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with scene.raw() as connection:
        connection.ask("PUT", KEY, scene.eve, Content_Length=str(size))
        rest = data + following
        while rest:
            at = chance.randrange(1, 1 << 20)
            connection.send(rest[:at])
            rest = rest[at:]
        assert connection.answer()[2]["size"] == size
        assert connection.answer()[0] == 200
    with Api(scene.url, scene.eve) as api:
        assert api("GET", "/buckets/eves/objects/large").content == data


def test_a_length_that_is_not_announced(scene: Scene) -> None:
    with scene.raw() as connection:
        connection.ask("PUT", KEY, scene.eve, Transfer_Encoding="chunked")
        for _ in range(5):
            connection.send_chunk(b"x" * PIECE_BYTES)
        connection.send_chunk(b"")
        assert connection.answer()[2]["size"] == 5 * PIECE_BYTES


def test_one_that_stops_in_the_middle_is_cut_off(hasty: Scene) -> None:
    with ExitStack() as stack:
        held = [stack.enter_context(hasty.ask("PUT", "/buckets/eves/objects/half", Content_Length="9000000"))]
        held.append(stack.enter_context(hasty.ask("POST", "/buckets/eves/batches", Content_Length="9000000")))
        for connection in held:
            connection.send(b"x" * 3_000_000)
        hasty.bob_works()
        assert {connection.answer()[0] for connection in held} == {408}
    with Api(hasty.url, hasty.eve) as api:
        assert api("GET", "/buckets/eves/objects/half").status_code == 404


def test_clients_that_go_away_in_the_middle_leave_nothing(scene: Scene) -> None:
    """More of them, one after the other, than what one person's bodies may take at a time."""
    for _ in range(30):
        with scene.ask("POST", "/buckets/eves/batches", Content_Length=str(16 << 20)) as connection:
            connection.send(b"x" * 1_000_000)
        with scene.ask("PUT", "/buckets/eves/objects/gone", Content_Length=str(16 << 20)) as connection:
            connection.send(b"x" * 5_000_000)
    with Api(scene.url, scene.eve) as api:
        assert api("PUT", "/buckets/eves/objects/whole", content=b"y" * (16 << 20)).status_code == 200
        wait_until(lambda: api("GET", "/buckets/eves/objects/gone").status_code == 404)
