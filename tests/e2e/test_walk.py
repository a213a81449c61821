"""The thinnest path: submit, run, log, result."""

from __future__ import annotations

from danlu.client import Client
from danlu.spec.states import JobState


def test_a_job_on_two_nodes_runs_and_its_output_is_in_the_store(client: Client) -> None:
    script = "echo rank $INDEX of $NODE_NUM; echo $DANLU_RANK > $DANLU_OUTPUT_DIR/rank-$INDEX.txt"
    job = client.jobs.submit(name="walk", command=script, nodes=2, launch="ddp")
    assert job.wait().state is JobState.SUCCEEDED
    lines = sorted(line.text.strip() for line in job.logs())
    assert lines == ["rank 0 of 2", "rank 1 of 2"]
    keys = sorted(item.key for item in client.store.list(f"main/jobs/{job.id}/"))
    assert keys == [f"jobs/{job.id}/rank-0.txt", f"jobs/{job.id}/rank-1.txt"]
