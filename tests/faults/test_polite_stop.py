"""The server is told to end while people follow logs and wait: it ends soon, and they notice nothing but a pause."""

from __future__ import annotations

import threading
import time

from danlu.client import Job
from danlu.spec.states import JobState
from danlu.testing.footprint import Footprint
from danlu.testing.invariants import check_at_rest
from danlu.testing.load import CHATTY, CHATTY_TEXT, wait_until
from danlu.testing.serving import RunningServer

STOP_SECONDS = 8.0


def test_streams_are_taken_up_again(hurt: RunningServer, footprint: Footprint) -> None:
    lines: list[str] = []
    ends: list[JobState] = []

    def follow(job: Job) -> None:
        lines.extend(line.text for line in job.logs(follow=True))

    def wait(job: Job) -> None:
        ends.append(job.wait(timeout=120).state)

    with hurt.start().client() as client, hurt.client() as other:
        job = client.jobs.submit(name="chatty", command=CHATTY)
        people = [
            threading.Thread(target=follow, args=(job,)),
            threading.Thread(target=wait, args=(other.jobs.get(job.id),)),
        ]
        for person in people:
            person.start()
        wait_until(lambda: len(lines) > 5000)
        asked_at = time.monotonic()
        hurt.stop()
        assert time.monotonic() - asked_at < STOP_SECONDS
        assert not ends, "the job was over before the server was"
        hurt.start()
        for person in people:
            person.join(timeout=120)
        assert ends == [JobState.SUCCEEDED]
        assert "".join(f"{line}\n" for line in lines).encode() == CHATTY_TEXT
    assert "Traceback" not in hurt.said()
    check_at_rest(hurt.data_dir, footprint)
