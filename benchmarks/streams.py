"""Cost of followers: server CPU with 1, 100 and 500 followers of one running job, and the delay of its lines.

The followers are sockets of one other process; only the CPU time of the server process is counted. They belong to
several users, as in a team. Run nothing else meanwhile. The last line printed is JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from urllib.parse import urlsplit

from danlu.client import Client, Job
from danlu.client.people.keys import parse_link, sign_in
from danlu.spec.states import JobState
from danlu.testing.serving import RunningServer
from danlu.wire.auth import SignIn

COUNTS = (1, 100, 500)
NUM_PEOPLE = 10
NUM_TIMED = 20
"""Number of followers that read every line and record its age; the others only count bytes."""

LINES_PER_SECOND = 10
PRINTS = f"python3 -u -c 'import time\nwhile True: print(time.time()); time.sleep({1 / LINES_PER_SECOND})'"
SETTLE_SECONDS = 3.0


def main() -> None:
    options = _options()
    folder = Path(tempfile.mkdtemp(prefix="danlu-bench-"))
    print(f"load average at the start: {os.getloadavg()[0]:.2f}")
    server = RunningServer(folder / "data").start()
    try:
        with server.client() as client:
            figures = measure(server, client, repeats=2 if options.quick else 5, seconds=8.0 if options.quick else 20.0)
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
    for one in figures:
        print(f"{one['name']:<40} {one['value']:>8.3f}   gate {one['gate']}   goal {one['goal']}   (lower is better)")
    print(json.dumps({"bench": "streams", "figures": figures}))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="shorter and fewer rounds")
    return parser.parse_args()


def measure(server: RunningServer, client: Client, *, repeats: int, seconds: float) -> list[dict[str, object]]:
    keys = [_person(server, client, number) for number in range(NUM_PEOPLE)]
    job = client.jobs.submit(name="talks", command=PRINTS)
    while job.refresh().state is not JobState.RUNNING:
        time.sleep(0.05)
    shares: dict[int, list[float]] = {count: [] for count in COUNTS}
    ages: dict[int, list[float]] = {count: [] for count in COUNTS}
    for _ in range(repeats):
        for count in COUNTS:
            share, seen = _follow(server, job, keys, count, seconds)
            shares[count].append(share)
            ages[count] += seen
    job.stop()
    job.wait(timeout=60)
    for count in COUNTS:
        told = f"{statistics.median(shares[count]) * 100:.2f} % of a core ({_percents(shares[count])})"
        print(f"{count:>4} followers: {told}; lines are {_p95(ages[count]):.3f} s old (p95, n={len(ages[count])})")
    first = statistics.median(shares[COUNTS[0]])
    return [
        _figure("cpu_100_followers_over_1", statistics.median(shares[100]) / first, 2.0, 1.3),
        _figure("cpu_500_followers_over_1", statistics.median(shares[500]) / first, 2.0, 1.3),
        _figure("line_p95_seconds_of_500", _p95(ages[500]), 0.5, 0.5),
    ]


def _person(server: RunningServer, client: Client, number: int) -> str:
    """Return an API key of a user who may view the job."""
    link = client.people.invite(f"follower-{number}", project="default", role="viewer")
    return sign_in(server.url, SignIn(token=parse_link(link.url).token), key_name="bench").api_key


def _follow(server: RunningServer, job: Job, keys: list[str], count: int, seconds: float) -> tuple[float, list[float]]:
    """Return the share of a core that the server process uses, and the ages of lines on arrival."""
    ours, theirs = multiprocessing.Pipe()
    target = f"/api/v1/jobs/{job.id}/logs?follow=true&tail=0"
    process = multiprocessing.get_context("spawn").Process(
        target=run_followers, args=(theirs, server.url, target, keys, count), daemon=True
    )
    process.start()
    assert ours.recv() == "open"
    time.sleep(SETTLE_SECONDS)
    ours.send("measure")
    began, before = time.monotonic(), _cpu_seconds(server.pid)
    time.sleep(seconds)
    share = (_cpu_seconds(server.pid) - before) / (time.monotonic() - began)
    ours.send("end")
    ages, num_lines = ours.recv()
    process.join(timeout=30)
    wanted = seconds * LINES_PER_SECOND
    assert min(num_lines) > wanted * 0.7, f"a follower got {min(num_lines)} of about {wanted:.0f} lines"
    return share, ages


def run_followers(pipe: Connection, url: str, target: str, keys: list[str], count: int) -> None:
    """Entry point of the other process: open the streams, report that, and measure between "measure" and "end"."""
    asyncio.run(_followers(pipe, url, target, keys, count))


async def _followers(pipe: Connection, url: str, target: str, keys: list[str], count: int) -> None:
    address = urlsplit(url)
    loop = asyncio.get_running_loop()
    ages: list[float] = []
    made: list[Follower] = []
    for number in range(count):
        request = (
            f"GET {target} HTTP/1.1\r\nHost: {address.netloc}\r\n"
            f"Authorization: Bearer {keys[number % len(keys)]}\r\nAccept: text/event-stream\r\n\r\n"
        )
        note = ages.append if number < NUM_TIMED else None
        follower = Follower(loop.create_future(), request.encode(), note)
        await loop.create_connection(lambda follower=follower: follower, address.hostname, address.port)
        made.append(follower)
        if number % 50 == 49:  # simultaneous connections would queue up, which is not to be measured
            await asyncio.gather(*(one.is_open for one in made))
    await asyncio.gather(*(one.is_open for one in made))
    pipe.send("open")
    assert await asyncio.to_thread(pipe.recv) == "measure"
    ages.clear()
    before = [one.num_lines for one in made]
    assert await asyncio.to_thread(pipe.recv) == "end"
    assert not any(one.is_lost for one in made), "the server closed a stream"
    pipe.send((ages, [one.num_lines - known for one, known in zip(made, before, strict=True)]))


class Follower(asyncio.Protocol):
    """An open stream. Cheap, as it shares the machine with the server."""

    def __init__(self, is_open: asyncio.Future[None], request: bytes, note_age: Callable[[float], None] | None) -> None:
        self.is_open, self._request, self._note_age = is_open, request, note_age
        self.num_lines = 0
        self.is_lost = False
        self._rest = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        if not self.is_open.done():
            head, _, data = data.partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200"), head
            self.is_open.set_result(None)
        self.num_lines += data.count(b"\\n")  # in JSON; ends each line of the job
        if self._note_age is None:
            return
        now = time.time()
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            if line.startswith(b"data: ") and b'"text":' in line:
                for text in json.loads(line[6:])["text"].split():
                    self._note_age(now - float(text))

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self.is_lost = True


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _p95(values: list[float]) -> float:
    return sorted(values)[int(len(values) * 0.95) - 1]


def _percents(values: list[float]) -> str:
    return ", ".join(f"{value * 100:.2f}" for value in values)


def _figure(name: str, value: float, gate: float, goal: float) -> dict[str, object]:
    return {"name": name, "value": round(value, 4), "gate": gate, "goal": goal, "is_upper": True}


if __name__ == "__main__":
    main()
