"""Scripts of other platforms, for real: each process prints what it saw, and fails when something is missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from danlu.client import Client
from danlu.client.jobs.job import Job
from danlu.client.jobs.jobfile import read_job_file
from danlu.errors import InvalidSpec
from danlu.spec.states import JobState

EXAMPLES = Path(__file__).parents[2] / "examples"


def submit_example(client: Client, name: str) -> Job:
    job_file = read_job_file(EXAMPLES / name / "job.yml", [])
    return client.jobs.submit(job_file.values, folder=job_file.folder)


def said(job: Job) -> list[str]:
    return [line.text.strip() for line in job.logs()]


class TestApulis:
    def test_the_guides_command_finds_its_tables_its_home_and_sudo(self, client: Client) -> None:
        job = submit_example(client, "apulis")
        assert job.wait().state is JobState.SUCCEEDED, said(job)
        assert sorted(said(job)) == [
            f"rank {rank}: worker {rank // 4} of 2, device {rank}, uid known, home /home/admin: both tables agree"
            for rank in range(8)
        ]

    def test_home_and_data_outlive_a_job_and_hold_its_log(self, client: Client) -> None:
        first = client.jobs.submit(
            name="writes", contract="apulis", command="echo weights > ~/kept; echo set > /data/kept; echo hello"
        )
        assert first.wait().state is JobState.SUCCEEDED, said(first)
        second = client.jobs.submit(
            name="reads",
            contract="apulis",
            command=f"cat ~/kept /data/kept ~/jobs/{first.id}/logs/joblog-1-0.txt; echo more >> ~/kept; whoami",
        )
        assert second.wait().state is JobState.SUCCEEDED, said(second)
        assert said(second) == ["weights", "set", "hello", "admin"]

    def test_tables_are_written_anew_for_each_attempt(self, client: Client) -> None:
        job = client.jobs.submit(
            name="twice",
            contract="apulis",
            launch="ascend",
            resources={"device": "npu:1"},
            command="t=~/.npu/$JOB_ID/hccl_tf.json; grep -c completed $t; echo old > $t; exit $((2 - DANLU_ATTEMPT))",
            retry={"max": 1, "backoff": 0},
        )
        assert job.wait().state is JobState.SUCCEEDED, said(job)
        assert said(job) == ["1"]
        assert job.details.attempt == 2

    def test_a_link_in_the_home_does_not_lead_the_log_elsewhere(self, client: Client, tmp_path: Path) -> None:
        bait = tmp_path / "bait"
        bait.mkdir(mode=0o777)
        lay = client.jobs.submit(name="lays", contract="apulis", command=f"rm -rf ~/jobs; ln -s {bait} ~/jobs")
        assert lay.wait().state is JobState.SUCCEEDED, said(lay)
        job = client.jobs.submit(name="logs", contract="apulis", command="echo hi; rm ~/jobs")
        assert job.wait().state is JobState.SUCCEEDED, said(job)
        assert list(bait.iterdir()) == []
        assert said(job)[0].startswith("danlu: the log is not copied to jobs/")


class TestModelArts:
    def test_the_boot_file_runs_once_per_card_after_ma_pre_start(self, client: Client) -> None:
        job = submit_example(client, "modelarts")
        assert job.wait().state is JobState.SUCCEEDED, said(job)
        lines = sorted(said(job))
        assert [line for line in lines if not line.startswith("[")] == ["preparing in /opt/ml/code/resnet"] * 2
        assert [line for line in lines if line.startswith("[")] == [
            f"[rank {rank}] rank {rank} of 4: worker-{rank // 2} of 2, card {rank % 2}: "
            "resnet50_config.yaml, run_distribute=True, 5 epochs: as promised"
            for rank in range(4)
        ]

    def test_a_failing_pre_start_has_a_reason_of_its_own(self, client: Client, tmp_path: Path) -> None:
        (tmp_path / "train.py").write_text("print('never')\n")
        (tmp_path / "ma-pre-start.sh").write_text("echo installing\nset -e\nfalse\n")
        job = client.jobs.submit(
            name="fails", contract="modelarts", command=["python3", "train.py"], code={"path": str(tmp_path)}
        )
        ended = job.wait()
        assert ended.state is JobState.FAILED
        assert ended.details.reason.code == "pre_start_failed"
        assert ended.details.reason.message == "rank 0: ma-pre-start.sh ended with code 1"
        assert said(job) == ["installing"]


@pytest.mark.parametrize(
    ("asked", "field", "told"),
    [
        (
            {"contract": "apulis", "launch": "ascend", "processes": "per_device"},
            "processes",
            "expected 'per_node'",
        ),
        ({"contract": "modelarts", "launch": "ascend"}, "processes", "expected 'per_device'"),
        ({"contract": "modelarts", "command": "cd x && python t.py"}, "command", "the words that start the boot file"),
        ({"contract": "modelarts", "command": ["bash", "run.sh"]}, "command", "one that ends with .py is"),
        ({"contract": "modelarts", "command": ["python", "../t.py"]}, "command", "has to be in the code folder"),
        ({"contract": "modelarts", "env": {"MA_HOME": "/"}}, "env", "names that begin with MA_ are the platform's"),
        (
            {"contract": "modelarts", "command": None, "resources": {}, "roles": {"worker": {"command": "x"}}},
            "roles",
            "ModelArts starts one boot file everywhere",
        ),
        ({"contract": "aws"}, "contract", "apulis, modelarts, tione"),
    ],
)
def test_what_a_contract_cannot_be_is_refused_at_submit(
    client: Client, asked: dict[str, Any], field: str, told: str
) -> None:
    asked = {"name": "refused", "command": ["python", "train.py"], "resources": {"device": "npu:1"}, **asked}
    with pytest.raises(InvalidSpec) as refused:
        client.jobs.submit(**asked)
    assert told in refused.value.fields[field]
