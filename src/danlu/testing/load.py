"""Load for tests with faults: clients that submit, read logs and retry, and checks of what the server acknowledged."""

from __future__ import annotations

import random
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from danlu.client import Client, Job
from danlu.errors import DanluError, StorageFull, Unavailable
from danlu.spec.states import JobState
from danlu.testing.serving import RunningServer
from danlu.testing.waiting import HANG_SECONDS, wait_until

CHATTY = "for k in $(seq 100 139); do seq ${k}000 ${k}999; sleep 0.1; done"
"""40,000 numbered lines in about four seconds."""

CHATTY_TEXT = "".join(f"{number}\n" for number in range(100_000, 140_000)).encode()


@dataclass(frozen=True)
class Kind:
    """A job, and how it must end whatever happens to the server."""

    name: str
    spec: dict[str, Any]
    state: JobState
    reason: str
    num_attempts: int = 1
    logs: tuple[bytes, ...] = ()
    """Expected log of every rank of the last attempt."""


ONE_DEVICE = {"device": "npu:1"}
KINDS = (
    Kind("short", {"command": "echo begun"}, JobState.SUCCEEDED, "done", logs=(b"begun\n",)),
    Kind(
        "long",
        {"command": "echo begun; sleep 5; echo over", "resources": ONE_DEVICE},
        JobState.SUCCEEDED,
        "done",
        logs=(b"begun\nover\n",),
    ),
    Kind("chatty", {"command": CHATTY, "resources": ONE_DEVICE}, JobState.SUCCEEDED, "done", logs=(CHATTY_TEXT,)),
    Kind("failing", {"command": "echo begun; exit 7"}, JobState.FAILED, "exit_code", logs=(b"begun\n",)),
    Kind(
        "pair",
        {"command": "echo rank $DANLU_RANK; sleep 1", "nodes": 2, "resources": ONE_DEVICE},
        JobState.SUCCEEDED,
        "done",
        logs=(b"rank 0\n", b"rank 1\n"),
    ),
    Kind(
        "second",
        {
            "command": "echo attempt $DANLU_ATTEMPT; [ $DANLU_ATTEMPT = 2 ]",
            "retry": {"max": 1, "on": ["exit_code"], "backoff": 0.2},
        },
        JobState.SUCCEEDED,
        "done",
        num_attempts=2,
        logs=(b"attempt 2\n",),
    ),
)


@dataclass
class Load:
    """Threads that submit jobs until `stop`, retrying each until it is acknowledged; and a thread that reads logs."""

    server: RunningServer
    num_threads: int = 2
    pause_seconds: float = 0.3
    seed: int = 0
    acknowledged: dict[str, tuple[str, Kind]] = field(default_factory=dict)
    """request_id -> job id and kind."""

    seen: dict[str, bytes] = field(default_factory=dict)
    """Job id -> log of rank 0 in the first attempt, as far as it has been read."""

    num_repeated: int = 0
    """Submissions whose first try got no answer."""

    problems: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._stop = threading.Event()
        self._lock = threading.Lock()
        targets: list[Callable[[], None]] = [
            *(partial(self._submit, number) for number in range(self.num_threads)),
            self._read,
        ]
        self._threads = [threading.Thread(target=self._guarded, args=(target,), daemon=True) for target in targets]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Stop the threads. The server must be up, because pending submissions are completed first."""
        self._stop.set()
        for thread in self._threads:
            thread.join(timeout=HANG_SECONDS)
        assert not any(thread.is_alive() for thread in self._threads), "a client did not get its answer"

    def _guarded(self, target: Callable[[], None]) -> None:
        try:
            target()
        except Exception as error:
            self.problems.append(f"{type(error).__name__}: {error}")

    def _submit(self, number: int) -> None:
        chance = random.Random(f"{self.seed} {number}")
        while not self._stop.is_set():
            kind, request_id = chance.choice(KINDS), uuid.uuid4().hex
            job = self._until_answered(partial(_send, kind=kind, request_id=request_id))
            with self._lock:
                self.acknowledged[request_id] = (job.id, kind)
            self._stop.wait(chance.uniform(0, 2 * self.pause_seconds))

    def _until_answered(self, ask: Callable[[Client], Job]) -> Job:
        num_tries = 0

        def ask_once() -> Job | None:
            nonlocal num_tries
            num_tries += 1
            try:
                with self.server.client() as client:
                    return ask(client)
            except (Unavailable, StorageFull):  # the server is down, or a disk is full
                return None

        job = wait_until(ask_once, self.server.said)
        assert job is not None
        self.num_repeated += num_tries > 1
        return job

    def _read(self) -> None:
        while not self._stop.is_set():
            with self._lock:
                jobs = [job_id for job_id, kind in self.acknowledged.values() if kind.name == "chatty"][-3:]
            for job_id in jobs:
                try:
                    with self.server.client() as client:
                        text = b"".join(client.jobs.get(job_id).raw_log(0, attempt=1))
                except DanluError:  # the attempt has not started, or the server is down
                    continue
                before = self.seen.get(job_id, b"")
                if not text.startswith(before[: len(text)]) or len(text) < len(before):
                    self.problems.append(f"{job_id}: {len(before)} bytes were shown, now there are {len(text)} others")
                self.seen[job_id] = max(before, text, key=len)
            self._stop.wait(0.1)


def check_promises(load: Load) -> None:
    """Wait for all jobs, and raise AssertionError unless each acknowledged job exists once and ended as expected."""
    assert not load.problems, "\n".join(load.problems)
    wanted = dict(load.acknowledged.values())
    assert len(wanted) == len(load.acknowledged), "two requests were answered with the same job"
    with load.server.client() as client:
        known = {job.id for job in client.jobs.list()}
        assert known == set(wanted), f"lost: {set(wanted) - known}; nobody asked for: {known - set(wanted)}"
        for job_id, kind in wanted.items():
            job = client.jobs.get(job_id).wait(timeout=HANG_SECONDS)
            found = (job.state, job.reason.code, job.details.attempt)
            assert found == (kind.state, kind.reason, kind.num_attempts), f"{kind.name} {job_id}: {found} {job.reason}"
            logs = tuple(b"".join(job.raw_log(rank)) for rank in range(len(kind.logs)))
            assert logs == kind.logs, f"{kind.name} {job_id}: {[len(text) for text in logs]} bytes of log"
            assert kind.logs[0].startswith(load.seen.get(job_id, b"")), f"{job_id}: a reader was shown something else"


def _send(client: Client, *, kind: Kind, request_id: str) -> Job:
    return client.jobs.submit({"name": kind.name, **kind.spec}, request_id=request_id)
