"""Ascend jobs for real, on simulated devices: every process holds its own rank table against its variables."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from danlu.cli.jobs.plan import plan_text
from danlu.client import Client
from danlu.client.jobs.jobfile import read_job_file
from danlu.errors import InvalidSpec
from danlu.spec.states import JobState, is_over
from danlu.testing.serving import RunningServer

EXAMPLE = Path(__file__).parents[2] / "examples" / "ascend"


@pytest.fixture(scope="module")
def wide_client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A machine that pretends to have room for two nodes of 8 NPUs."""
    running = RunningServer(tmp_path_factory.mktemp("ascend") / "data", "--simulate", "npu:910b:16").start()
    with running.client() as client:
        yield client
        assert all(is_over(job.state) for job in client.jobs.list())
    running.stop()


def said(job_id: str, client: Client) -> list[str]:
    return [line.text.strip() for line in client.jobs.get(job_id).logs()]


def test_the_example_runs_sixteen_processes_that_agree_with_their_table(wide_client: Client) -> None:
    job_file = read_job_file(EXAMPLE / "job.yml", [])
    shown = plan_text(wide_client.jobs.plan(job_file.values, folder=job_file.folder))
    assert "/input/config/rank_table.json\n" in shown
    assert "are simulated: no such hardware is used" in shown
    job = wide_client.jobs.submit(job_file.values, folder=job_file.folder)
    assert job.wait().state is JobState.SUCCEEDED, said(job.id, wide_client)
    expected = [
        f"[rank {rank}] rank {rank} of 16: server {rank // 8}, device {rank % 8}: the table agrees"
        for rank in range(16)
    ]
    assert sorted(said(job.id, wide_client)) == sorted(expected)
    logs = [item.key.rpartition("/")[2] for item in wide_client.store.list(f"main/jobs/{job.id}/logs/")]
    assert sorted(logs) == sorted(f"{job.id}-proc-rank-{rank}-device-{rank % 8}.txt" for rank in range(16))


def test_a_command_on_one_node_starts_its_own_processes(wide_client: Client) -> None:
    loop = """
    for i in $(seq 0 $((DEVICE_NUM - 1))); do
        RANK_ID=$((RANK_ID + i)) DEVICE_ID=$i python3 -u check_table.py &
        pids="$pids $!"
    done
    for pid in $pids; do wait $pid || exit 1; done
    """
    job = wide_client.jobs.submit(
        name="eight",
        command=loop,
        launch="ascend",
        resources={"device": "npu:8"},
        code={"path": str(EXAMPLE / "code")},
    )
    assert job.wait().state is JobState.SUCCEEDED, said(job.id, wide_client)
    assert sorted(said(job.id, wide_client)) == [
        f"rank {rank} of 8: server 0, device {rank}: the table agrees" for rank in range(8)
    ]


def test_the_first_process_that_fails_ends_its_node_with_its_code(wide_client: Client) -> None:
    job = wide_client.jobs.submit(
        name="one-fails",
        command="if [ $RANK_ID = 2 ]; then exit 7; fi; exec sleep 3600",
        launch="ascend",
        processes="per_device",
        resources={"device": "npu:4"},
    )
    ended = job.wait()
    assert ended.state is JobState.FAILED
    assert said(job.id, wide_client) == ["danlu: rank 2 ended with 7; the other processes of this node are ended"]
    assert [task.exit_code for attempt in ended.details.attempts for task in attempt.tasks] == [7]


def test_a_stop_reaches_every_process_once(wide_client: Client) -> None:
    job = wide_client.jobs.submit(
        name="stopped",
        command="trap 'echo saving; sleep 0.5; echo saved; exit 0' TERM; echo up; while :; do sleep 0.1; done",
        launch="ascend",
        processes="per_device",
        resources={"device": "npu:2"},
    )
    followed = (line.text.strip() for line in job.logs(follow=True))
    assert sorted(islice(followed, 2)) == ["[rank 0] up", "[rank 1] up"]
    job.stop()
    assert job.wait().state is JobState.STOPPED
    lines = [line for line in said(job.id, wide_client) if "Terminated" not in line]  # bash, of its own sleep
    assert sorted(lines) == sorted(f"[rank {rank}] {word}" for rank in range(2) for word in ("up", "saving", "saved"))


@pytest.mark.parametrize(
    ("asked", "field", "told"),
    [
        ({"resources": {"device": "npu:3"}}, "resources.device", "only 1, 2, 4, 8 or 16 of them work together"),
        ({"resources": {"device": "gpu:2"}}, "resources.device", "launch: ascend needs NPUs, not 'gpu:2'"),
        ({"launch": "plain", "processes": "per_device"}, "processes", "goes with launch: ascend only"),
    ],
)
def test_what_cannot_work_is_refused_at_submit(
    wide_client: Client, asked: dict[str, Any], field: str, told: str
) -> None:
    with pytest.raises(InvalidSpec) as refused:
        wide_client.jobs.submit(**{"name": "refused", "command": "true", "launch": "ascend", **asked})
    assert told in refused.value.fields[field]
