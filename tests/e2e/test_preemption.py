"""Preemption for real: a job makes room, saves, and goes on where it was."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import danlu
from danlu.client import Client, Job
from danlu.spec.states import AttemptState, JobState
from danlu.testing.serving import RunningServer
from danlu.testing.waiting import wait_until

EXAMPLE = Path(__file__).parents[2] / "examples" / "preemption" / "code"
IMPORTABLE = {"PYTHONPATH": str(Path(danlu.__file__).parents[1])}


LAST_STEP = 20_000


def patient(client: Client, name: str, code: Path) -> Job:
    """The example, which does not end in its first attempt, and soon in its second."""
    return client.jobs.submit(
        name=name,
        command="[ $DANLU_ATTEMPT = 1 ] || export DANLU_HYPERPARAMETERS=second.json; python3 -u train.py",
        code={"path": str(code)},
        env=IMPORTABLE,
        preemptible=True,
        grace="10m",
        resources={"device": "npu:2"},
        hyperparameters={"steps": 10**9, "seconds_per_step": 0.05, "save_every": 10},
    )


def said(job: Job, attempt: int) -> list[str]:
    return [line.text.strip() for line in job.logs(attempt=attempt)]


def test_the_newest_makes_room_and_resumes_at_its_checkpoint(
    make_server: Callable[..., RunningServer], tmp_path: Path
) -> None:
    running = make_server("--simulate", "npu:910b:4")
    code = tmp_path / "code"
    shutil.copytree(EXAMPLE, code)
    (code / "second.json").write_text(json.dumps({"steps": LAST_STEP, "seconds_per_step": 0, "save_every": 10_000}))
    with running.client() as client:
        older = patient(client, "older", code)
        wait_until(lambda: older.refresh().state is JobState.RUNNING)
        newer = patient(client, "newer", code)
        wait_until(lambda: list((running.data_dir / "work" / newer.id).rglob("state.json")))  # its first checkpoint

        urgent = client.jobs.submit(name="urgent", command="true", resources={"device": "npu:2"})
        assert urgent.wait().state is JobState.SUCCEEDED
        assert newer.wait().state is JobState.SUCCEEDED, newer.reason
        assert older.refresh().state is JobState.RUNNING
        assert older.details.attempt == 1  # exactly what was needed, and no more

        # the victim went on where it was, with the same output, and nothing was counted as a failure
        first, second = said(newer, 1), said(newer, 2)
        saved = int(first[-1].removeprefix("told to end: saved at step "))
        assert saved >= 10
        assert first[0] == "attempt 1 begins at step 0"
        assert second == [f"attempt 2 begins at step {saved}", f"done after {LAST_STEP} steps, weight {LAST_STEP // 2}"]
        attempts = newer.details.attempts
        assert [attempt.state for attempt in attempts] == [AttemptState.STOPPED, AttemptState.SUCCEEDED]
        assert attempts[0].reason.code == "preempted"

        story = [event.kind for event in newer.events()]
        assert story == [
            "submitted", "starting", "running", "preempted", "stopped", "queued", "starting", "running", "succeeded"
        ]  # fmt: skip
        assert f"resources for {urgent.id}" in next(e.message for e in newer.events() if e.kind == "preempted")
        assert [event.message for event in urgent.events() if event.kind == "making_room"] == [
            f"{newer.id} is being preempted for it"
        ]
        older.stop().wait()
