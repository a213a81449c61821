"""Clients that log numbered points as fast as they can, to a server that is killed again and again."""

from __future__ import annotations

import csv
import io
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import httpx
from tests.support.journals import JournalMaker

from danlu.testing.serving import RunningServer
from danlu.testing.waiting import wait_until


@dataclass
class Sender:
    """One client with one run: it believes what it is told, and complains when that is taken back."""

    num_points: int
    points_at_once: int
    made: JournalMaker = field(default_factory=lambda: JournalMaker(name="storm"))
    num_logged: int = 0
    num_acknowledged: int = 0
    broken_promises: list[str] = field(default_factory=list)
    _is_known: bool = False

    def send(self, url: str, api_key: str) -> None:
        lengths: list[tuple[int, int]] = []
        acknowledged = 0
        headers = {"Authorization": f"Bearer {api_key}"}
        with httpx.Client(base_url=f"{url}/api/v1", headers=headers, timeout=None) as http:
            while self.num_acknowledged < self.num_points:
                if acknowledged == len(self.made.data) or not lengths:
                    last = min(self.num_logged + self.points_at_once, self.num_points)
                    steps = range(self.num_logged, last)
                    self.made.log("train", {"number": [float(step) for step in steps]}, steps)
                    self.num_logged = last
                    lengths.append((len(self.made.data), last))
                answer = wait_until(partial(self._put, http, acknowledged))
                assert answer is not None
                now = answer.json()["offset"]
                if now < acknowledged:
                    self.broken_promises.append(f"{acknowledged} bytes were acknowledged, then only {now}")
                acknowledged = now
                self.num_acknowledged = max((count for length, count in lengths if length <= now), default=0)

    def _put(self, http: httpx.Client, offset: int) -> httpx.Response | None:
        """Send what the server lacks; None when it is away."""
        try:
            if not self._is_known:
                http.post("/runs", json=self.made.header).raise_for_status()
                self._is_known = True
            path = f"/runs/{self.made.run}/journals/{self.made.name}"
            return http.put(path, params={"offset": offset}, content=self.made.data[offset:]).raise_for_status()
        except httpx.HTTPError:
            return None


@dataclass(frozen=True)
class Storm:
    senders: list[Sender]
    num_kills: int
    seconds: float


@contextmanager
def packing_server(folder: Path, *, pack_bytes: int) -> Iterator[RunningServer]:
    """A server that packs points in stretches of this length."""
    server = RunningServer(folder / "data")
    server.env["DANLU_SERVER_PACK_BYTES"] = str(pack_bytes)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def storm(
    server: RunningServer,
    *,
    num_points: int,
    num_kills: int,
    seed: int,
    num_clients: int = 4,
    points_at_once: int = 500,
) -> Storm:
    """Kill the server at random moments, evenly over the points, while the clients send. Return when all is sent."""
    chance = random.Random(seed)
    senders = [Sender(num_points // num_clients, points_at_once) for _ in range(num_clients)]
    began = time.monotonic()
    threads = [threading.Thread(target=one.send, args=(server.url, server.api_key)) for one in senders]
    for thread in threads:
        thread.start()
    killed = 0
    for number in range(num_kills):
        wanted = num_points * (number + chance.random()) / (num_kills + 1)

        def is_moment(wanted: float = wanted) -> bool:
            is_sent = not any(thread.is_alive() for thread in threads)
            return is_sent or sum(one.num_acknowledged for one in senders) >= wanted

        wait_until(is_moment, longest_pause_seconds=0.002)
        moment = server.cpu_seconds() + chance.random() * 0.03
        wait_until(
            lambda moment=moment: is_moment(num_points) or server.cpu_seconds() >= moment,  # type: ignore[misc]
            longest_pause_seconds=0.002,
        )
        if not any(thread.is_alive() for thread in threads):
            break
        server.kill()
        killed += 1
        server.start()
    for thread in threads:
        thread.join()
    return Storm(senders, killed, time.monotonic() - began)


def check_storm(server: RunningServer, made: Storm) -> None:
    """Every point is there once, in order, with its own value; in what is exported and in the roll-ups."""
    with httpx.Client(
        base_url=f"{server.url}/api/v1", headers={"Authorization": f"Bearer {server.api_key}"}, timeout=None
    ) as http:
        for sender in made.senders:
            assert sender.broken_promises == []
            assert sender.num_acknowledged == sender.num_points
            text = http.get(f"/runs/{sender.made.run}/export").raise_for_status().text
            rows = list(csv.reader(io.StringIO(text)))[1:]
            assert [int(row[2]) for row in rows] == list(range(sender.num_points))
            assert [float(row[5]) for row in rows] == [float(number) for number in range(sender.num_points)]
            _wait_until_counted(http, sender)


def _wait_until_counted(http: httpx.Client, sender: Sender) -> None:
    """Roll-ups come a moment later, and count every point once."""

    def look() -> dict[str, Any] | None:
        run: dict[str, Any] = http.get(f"/runs/{sender.made.run}").raise_for_status().json()
        return run if run["num_points"] >= sender.num_points else None

    run = wait_until(look)
    assert run is not None
    last = sender.num_points - 1
    (metric,) = run["metrics"]
    found = (run["num_points"], metric["num_points"], metric["low"], metric["high"], metric["last"])
    assert found == (sender.num_points, sender.num_points, 0.0, float(last), float(last))
