"""Where results go when a job does not say."""

from __future__ import annotations

from danlu.client import Client


def test_a_new_bucket_does_not_move_the_results_of_later_jobs(client: Client) -> None:
    client.store.make_bucket("aaa-first-by-name")
    job = client.jobs.submit(name="default-output", command="true")
    assert job.output == f"store://main/jobs/{job.id}/"
    job.wait()
