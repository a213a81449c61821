"""Eve: `eve.py hold|submit URL KEY NUM_SUBMITS`. Prints a line for each event, until terminated."""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter

from danlu import journal
from danlu.client import Client
from danlu.errors import DanluError, TooManyRequests
from danlu.spec.states import JobState
from danlu.testing.raw_http import RawConnection

NUM_STREAMS, NUM_EXPORTS, NUM_SHELLS, NUM_BODIES = 100, 50, 10, 8
NUM_POINTS = 120_000
BODY_BYTES = 300 << 20
LOG_BYTES = 1 << 30
NUM_SENDERS = 32


def hold(client: Client, url: str, key: str) -> None:
    """Open as many connections as allowed, and read none of them."""
    job = client.jobs.submit(
        name="endless", command=f"truncate -s {LOG_BYTES} /dev/stdout; while :; do seq 100000; sleep 0.1; done"
    )
    while job.refresh().state is not JobState.RUNNING:
        time.sleep(0.05)
    run = _big_run(client)
    held: list[object] = []
    answers: Counter[str] = Counter()
    for number in range(NUM_SHELLS):
        held.append(job.terminal(command=["yes"]))
        answers[f"{number and ''}shells"] += 1
    paths = [f"/api/v1/jobs/{job.id}/logs?follow=true"] * NUM_STREAMS + [f"/api/v1/runs/{run}/export"] * NUM_EXPORTS
    for path in paths:
        connection = RawConnection(url, receive_bytes=65536).ask("GET", path, key)
        kind = "exports" if path.endswith("export") else "streams"
        answers[f"{kind} {connection.status()}"] += 1
        held.append(connection)
    for _ in range(NUM_BODIES):
        threading.Thread(target=_send_bodies, args=(url, key, answers), daemon=True).start()
    while True:
        told = ", ".join(f"{count} {what}" for what, count in sorted(answers.items()))
        print(f"holds {told}", flush=True)
        time.sleep(2)


def submit(client: Client, num_submits: int) -> None:
    """Submit as fast as the server accepts, from many threads."""
    answers: Counter[str] = Counter()
    lock = threading.Lock()

    def send() -> None:
        while True:
            with lock:
                if answers["begun"] >= num_submits:
                    return
                answers["begun"] += 1
            while True:
                try:
                    client.jobs.submit(name="flood", command="true", resources={"device": "npu:8"})
                    break
                except TooManyRequests:
                    answers["told to wait"] += 1
                except DanluError:
                    answers["refused"] += 1
            answers["submitted"] += 1

    threads = [threading.Thread(target=send, daemon=True) for _ in range(NUM_SENDERS)]
    for thread in threads:
        thread.start()
    while True:
        told = f"told to wait {answers['told to wait']} times, refused {answers['refused']} times"
        print(f"{answers['submitted']} submitted, {told}", flush=True)
        time.sleep(0.5)


def _send_bodies(url: str, key: str, answers: Counter[str]) -> None:
    """Repeatedly send long bodies to routes that do not accept them, with and without credentials."""
    number = 0
    while True:
        number += 1
        path = ("/api/v1/jobs", "/signin", "/api/v1/trees", "/api/v1/session")[number % 4]
        try:
            with RawConnection(url) as connection:
                connection.ask("POST", path, key if number % 3 else None, Transfer_Encoding="chunked")
                for _ in range(BODY_BYTES >> 20):
                    connection.send_chunk(b"x" * (1 << 20))
                answers[f"bodies {connection.status()}"] += 1
        except OSError:
            answers["bodies cut off"] += 1


def _big_run(client: Client) -> str:
    """Create a run whose export exceeds the buffers of a connection."""
    run, name = journal.new_run_id(), journal.new_journal_id()
    header = {"run": run, "name": "big", "created_at": time.time(), "branch": 1, "writer": "process", "rank": 0}
    data = journal.file_header(name) + journal.encode_run(header)
    data += journal.encode_layout(journal.Layout(1, "train", ("loss",)))
    pack = journal.row_struct(1).pack
    for first in range(0, NUM_POINTS, 5000):
        rows = [pack(step, time.time(), 0.0, 1.0 / (step + 1)) for step in range(first, first + 5000)]
        data += journal.encode_points(1, rows)
    http = client.jobs._http
    http.send("POST", "/runs", body=_json(header))
    http.send("PUT", f"/runs/{run}/journals/{name}?offset=0", body=data)
    return run


def _json(values: dict[str, object]) -> object:
    from danlu.wire.runs import CreateRun

    return CreateRun.model_validate(values)


if __name__ == "__main__":
    deed, server_url, api_key, wanted = sys.argv[1:5]
    with Client(url=server_url, api_key=api_key) as eve:
        if deed == "hold":
            hold(eve, server_url, api_key)
        else:
            submit(eve, int(wanted))
