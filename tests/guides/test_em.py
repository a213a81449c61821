"""The case of t9k's guide over two servers: a two-node DDP job whose rank 0 records, `create_run` to `upload`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.stores import S3Servers
from tests.support.team import Team, running_team

from danlu.client.jobs.jobfile import read_job_file
from danlu.spec.states import JobState
from danlu.testing.postgres import Postgres
from danlu.testing.waiting import wait_until
from t9k import em

EXAMPLE = Path(__file__).parents[2] / "examples" / "em_ddp"


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory, postgres: Postgres, s3_servers: S3Servers) -> Iterator[Team]:
    with running_team(tmp_path_factory.mktemp("team"), postgres, s3_servers) as running:
        yield running


def test_the_case_of_the_guide(team: Team, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = team.servers
    with first.client() as one, second.client() as other:
        job_file = read_job_file(EXAMPLE / "job.yml", ["env.EPOCHS=1"])
        job = one.jobs.submit(job_file.values, folder=job_file.folder)
        ended = job.wait()
        assert ended.state is JobState.SUCCEEDED, "\n".join(line.text for line in job.logs())

        (run,) = other.runs.list("name = 'mnist_torch_distributed'", folder="em-examples")
        assert (run.job, run.state) == (job.id, "finished")
        assert {(metric.type, metric.name) for metric in run.metrics} == {
            ("train", "loss"),
            *((type, name) for type in ("val", "test") for name in ("loss", "accuracy")),
        }
        assert run.hparams["learning_rate"] == 0.002
        version = other.artifacts.get("em-examples/mnist_torch_saved_model")
        assert version.run == run.id
        (made,) = other.flow(run.id, direction="down").of_kind("artifact")
        assert made.id == f"artifact:{version.id}"

        # what the script left beside itself is kept with the job's output
        kept = [item.key.partition("/.em/")[2] for item in one.store.list(f"main/jobs/{job.id}/.em/")]
        assert {path.split("/")[0] for path in kept} == {"runs", "artifacts"}
        assert "model_state_dict.pt" in {path.rpartition("/")[2] for path in kept}

    # and found again from elsewhere
    monkeypatch.chdir(tmp_path)
    em.login(second.url, second.api_key)
    try:
        loaded = em.load_artifact("em-examples/mnist_torch_saved_model")
        assert list(loaded.objects) == ["model_state_dict.pt"]
        again = em.load_run("em-examples/mnist_torch_distributed")
        assert again.hparams["epochs"] == 1
        assert [record["sequence"]["step"] for record in again.metrics["test"]] == [16]
        again.log(type="test", metrics={"loss": 0.5}, step=17, epoch=2)
        again.finish()
        again.upload("em-examples")
        with first.client() as one:
            wait_until(lambda: one.runs.get(run.id).details.step == 17)
            assert len(list(one.runs.list("name = 'mnist_torch_distributed'"))) == 1
    finally:
        em.logout()
