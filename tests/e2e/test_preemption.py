"""Preemption for real: a job makes room, saves, and goes on where it was."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import danlu
from danlu.client import Client, Job
from danlu.spec.states import AttemptState, JobState
from danlu.testing.serving import RunningServer

EXAMPLE = Path(__file__).parents[2] / "examples" / "preemption" / "code"
IMPORTABLE = {"PYTHONPATH": str(Path(danlu.__file__).parents[1])}


def patient(client: Client, name: str, steps: int) -> Job:
    return client.jobs.submit(
        name=name,
        command="python3 -u train.py",
        code={"path": str(EXAMPLE)},
        env=IMPORTABLE,
        preemptible=True,
        grace="20s",
        resources={"device": "npu:2"},
        hyperparameters={"steps": steps, "seconds_per_step": 0.05, "save_every": 10},
    )


def until(is_true: Callable[[], Any], *, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def said(job: Job, attempt: int) -> list[str]:
    return [line.text.strip() for line in job.logs(attempt=attempt)]


def test_the_newest_makes_room_and_resumes_at_its_checkpoint(make_server: Callable[..., RunningServer]) -> None:
    running = make_server("--simulate", "npu:910b:4")
    with running.client() as client:
        older = patient(client, "older", 10_000)
        until(lambda: older.refresh().state is JobState.RUNNING)
        newer = patient(client, "newer", 120)
        until(lambda: said(newer.refresh(), 1) if newer.refresh().state is JobState.RUNNING else None)
        time.sleep(2.0)

        urgent = client.jobs.submit(name="urgent", command="sleep 2", resources={"device": "npu:2"})
        assert urgent.wait(timeout=60).state is JobState.SUCCEEDED
        assert newer.wait(timeout=60).state is JobState.SUCCEEDED, newer.reason
        assert older.refresh().state is JobState.RUNNING
        assert older.details.attempt == 1  # exactly what was needed, and no more

        # the victim went on where it was, with the same output, and nothing was counted as a failure
        first, second = said(newer, 1), said(newer, 2)
        saved = int(first[-1].removeprefix("told to end: saved at step "))
        assert saved > 0
        assert first[0] == "attempt 1 begins at step 0"
        assert second == [f"attempt 2 begins at step {saved}", "done after 120 steps, weight 60"]
        attempts = newer.details.attempts
        assert [attempt.state for attempt in attempts] == [AttemptState.STOPPED, AttemptState.SUCCEEDED]
        assert attempts[0].reason.code == "preempted"

        story = [event.kind for event in newer.events()]
        assert story == [
            "submitted", "starting", "running", "preempted", "stopped", "queued", "starting", "running", "succeeded"
        ]  # fmt: skip
        assert f"makes room for {urgent.id}" in next(e.message for e in newer.events() if e.kind == "preempted")
        assert [event.message for event in urgent.events() if event.kind == "making_room"] == [
            f"{newer.id} makes room for it"
        ]
        older.stop().wait(timeout=60)
