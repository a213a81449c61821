"""The door through which agents bring pieces of logs: who has no ticket, or brings too much, writes nothing."""

from __future__ import annotations

import errno
import socket
import struct
import tempfile
from pathlib import Path

import pytest

from danlu.engines.ray.log_door import MAX_VISITORS, TICKET_BYTES, LogDoor, Way, bring, open_door
from danlu.testing.waiting import HANG_SECONDS, wait_until

HERE = "127.0.0.1"


@pytest.fixture(scope="module")
def door() -> LogDoor:
    return LogDoor(HERE, ticket_seconds=0.2)


@pytest.fixture
def target(tmp_path: Path) -> Path:
    path = tmp_path / "segment"
    path.write_bytes(b"before")
    return path


def test_a_piece_is_written_in_its_place(door: LogDoor, target: Path) -> None:
    with door.expect(str(target), at=6, most=3_000_000) as (way, expected):
        assert send(b"x" * 2_500_000, way) == 2_500_000
        expected.wait(HANG_SECONDS)
        assert expected.size == 2_500_000
    assert target.read_bytes() == b"before" + b"x" * 2_500_000


def test_nothing_is_written_behind_the_piece(door: LogDoor, target: Path) -> None:
    with door.expect(str(target), at=6, most=10) as (way, expected):
        send(b"y" * 100_000, way)
        expected.wait(HANG_SECONDS)
    assert target.read_bytes() == b"before" + b"y" * 10


def test_a_ticket_is_good_for_one_piece_and_until_its_time_is_over(door: LogDoor, target: Path) -> None:
    with door.expect(str(target), at=6, most=100) as (way, expected):
        send(b"first", way)
        expected.wait(HANG_SECONDS)
        assert is_turned_away(way, b"again")
    with door.expect(str(target), at=6, most=100) as (way, _):
        pass
    assert is_turned_away(way, b"too late")
    assert target.read_bytes() == b"beforefirst"


@pytest.mark.parametrize("said", [b"", b"GET / HTTP/1.1\r\n\r\n", b"\0" * TICKET_BYTES, b"z" * 100_000])
def test_who_has_no_ticket_is_turned_away(door: LogDoor, target: Path, said: bytes) -> None:
    with door.expect(str(target), at=6, most=100) as (way, expected):
        assert is_turned_away(way._replace(ticket=said), b"")
        assert expected.size == 0
    assert target.read_bytes() == b"before"


def test_those_who_say_nothing_keep_nobody_out(door: LogDoor, target: Path) -> None:
    with door.expect(str(target), at=6, most=100) as (way, expected):
        silent = [socket.create_connection((way.address, way.port)) for _ in range(2 * MAX_VISITORS)]
        for one in silent:
            one.settimeout(HANG_SECONDS)
            assert ends(one)
            one.close()
        assert send(b"after them", way)
        expected.wait(HANG_SECONDS)
        assert expected.size == 10


def test_what_has_come_of_a_piece_that_breaks_off_counts(door: LogDoor, target: Path) -> None:
    with door.expect(str(target), at=6, most=100) as (way, expected):
        with socket.create_connection((way.address, way.port)) as agent:
            agent.sendall(way.ticket + b"half of it")
            agent.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 0, 0))
            wait_until(lambda: expected.size == 10)
        expected.wait(HANG_SECONDS)
        assert (expected.size, expected.problem) == (10, None)
    assert target.read_bytes() == b"beforehalf of it"


def test_a_driver_that_hangs_holds_up_an_agent_for_a_moment_only(tmp_path: Path) -> None:
    """It takes the connection, and reads nothing."""
    log = tmp_path / "log"
    with log.open("wb") as file:
        file.truncate(1 << 30)
    with socket.create_server((HERE, 0)) as hung, log.open("rb") as opened:
        way = Way(HERE, hung.getsockname()[1], b"t" * TICKET_BYTES)
        assert 0 < bring(opened.fileno(), way, offset=0, size=1 << 30, seconds=0.2) < 1 << 30


def test_a_full_disk_is_told(door: LogDoor) -> None:
    with door.expect("/dev/full", at=0, most=100) as (way, expected):
        send(b"x", way)
        expected.wait(HANG_SECONDS)
        assert expected.problem is not None
        assert expected.problem.errno == errno.ENOSPC


def test_who_finds_no_way_says_so() -> None:
    with socket.create_server((HERE, 0)) as free:
        port = free.getsockname()[1]
    assert not send(b"x", Way(HERE, port, b"t" * TICKET_BYTES))


def test_a_node_that_finds_no_way_is_not_sent_on_it_again_soon(door: LogDoor) -> None:
    assert door.is_open_for("one")
    door.close_for("one")
    assert not door.is_open_for("one")
    assert door.is_open_for("two")


def test_where_the_traffic_of_ray_is_encrypted_logs_go_with_it() -> None:
    assert open_door(HERE, {"RAY_USE_TLS": "1"}) is None
    assert open_door("203.0.113.1", {}) is None  # no address of this machine


def send(data: bytes, way: Way) -> int:
    with tempfile.TemporaryFile() as log:
        log.write(b"earlier" + data)
        log.flush()
        return bring(log.fileno(), way, offset=7, size=len(data))


def is_turned_away(way: Way, data: bytes) -> bool:
    with socket.create_connection((way.address, way.port), HANG_SECONDS) as connected:
        try:
            connected.sendall(way.ticket + data)
            return ends(connected)
        except OSError:  # while it was still speaking
            return True


def ends(connected: socket.socket) -> bool:
    try:
        return connected.recv(1) == b""
    except ConnectionResetError:
        return True
