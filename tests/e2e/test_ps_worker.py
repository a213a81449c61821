"""Parameter servers and workers for real, and other rules of success."""

from __future__ import annotations

from pathlib import Path

import pytest

from danlu.cli.jobs.ps import rows_text
from danlu.cli.jobs.show import job_text
from danlu.client import Client
from danlu.client.jobs.jobfile import read_job_file
from danlu.errors import InvalidSpec
from danlu.spec.states import JobState

EXAMPLE = Path(__file__).parents[2] / "examples" / "ps_worker"


def said(job_id: str, client: Client) -> list[str]:
    return [line.text.rstrip() for line in client.jobs.get(job_id).logs()]


def test_the_example_shakes_hands_and_its_servers_are_ended_politely(client: Client) -> None:
    job_file = read_job_file(EXAMPLE / "job.yml", [])
    job = client.jobs.submit(job_file.values, folder=job_file.folder)
    ended = job.wait()
    assert ended.state is JobState.SUCCEEDED, said(job.id, client)
    servers = "10.88.0.4:2222, 10.88.0.5:2222"
    assert sorted(said(job.id, client)) == [
        "ps 0 of 2 listens on 10.88.0.4:2222",
        "ps 0 of 2 was told to end after 30 pushes",
        "ps 1 of 2 listens on 10.88.0.5:2222",
        "ps 1 of 2 was told to end after 30 pushes",
        *(f"worker {index} of 3 talked to {servers} and pulled [60.0, 60.0]" for index in range(3)),
    ]
    assert ended.reason.message == "worker succeeded, which completes this job; the other tasks were stopped"
    tasks = ended.details.attempts[-1].tasks
    assert [(task.role, str(task.state), task.exit_code) for task in tasks] == [
        *[("worker", "succeeded", 0)] * 3,
        *[("ps", "stopped", 0)] * 2,
    ]
    assert "3x cpu:1 worker, 2x cpu:1 ps" in rows_text([ended.row])
    shown = job_text(ended.details, [])
    assert "worker     python3 -u train.py" in shown
    assert "3     ps" in shown


def test_a_job_succeeds_with_its_first_task_when_it_asks_for_that(client: Client) -> None:
    job = client.jobs.submit(
        name="first",
        command="test $DANLU_RANK = 1 || exec sleep 3600; echo found it",
        nodes=2,
        success="any",
        grace=5,
    )
    ended = job.wait()
    assert (ended.state, said(job.id, client)) == (JobState.SUCCEEDED, ["found it"])


def test_what_a_rule_cannot_mean_is_refused_at_submit(client: Client) -> None:
    with pytest.raises(InvalidSpec) as refused:
        client.jobs.submit(name="refused", command="true", success="worker-1")
    assert refused.value.fields == {"success": "expected one of worker (0 to 0), got 'worker-1'"}
