"""The server is told to end while people follow logs and wait: it ends soon, and they notice nothing but a pause."""

from __future__ import annotations

import threading

from danlu.client import Job
from danlu.spec.states import JobState
from danlu.testing.footprint import Footprint
from danlu.testing.gates import HOLD
from danlu.testing.invariants import check_at_rest
from danlu.testing.load import CHATTY, CHATTY_TEXT
from danlu.testing.serving import RunningServer
from danlu.testing.waiting import wait_until


def test_streams_are_taken_up_again(hurt: RunningServer, footprint: Footprint) -> None:
    lines: list[str] = []
    ends: list[JobState] = []

    def follow(job: Job) -> None:
        lines.extend(line.text for line in job.logs(follow=True))

    def wait(job: Job) -> None:
        ends.append(job.wait().state)

    with hurt.start().client() as client, hurt.client() as other:
        job = client.jobs.submit(name="chatty", command=f"{CHATTY}; {HOLD}; echo over")
        people = [
            threading.Thread(target=follow, args=(job,)),
            threading.Thread(target=wait, args=(other.jobs.get(job.id),)),
        ]
        for person in people:
            person.start()
        wait_until(lambda: len(lines) > 5000)
        hurt.stop()  # it would never return if it waited for the job, which those who follow do
        assert not ends, "the job was over before the server was"
        hurt.start()
        hurt.let_go(job.id)
        for person in people:
            person.join()
        assert ends == [JobState.SUCCEEDED]
        assert "".join(f"{line}\n" for line in lines).encode() == CHATTY_TEXT + b"over\n"
    assert "Traceback" not in hurt.said()
    check_at_rest(hurt.data_dir, footprint)
