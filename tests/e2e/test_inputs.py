"""What jobs made is what others read: artifacts and models as inputs, seen in the data flow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import danlu
from danlu.client import Client
from danlu.client.jobs.job import Job
from danlu.errors import InvalidSpec
from danlu.spec.states import JobState

SOURCE = str(Path(danlu.__file__).parents[1])
MAKES = """
import os, pathlib
from danlu import track
pathlib.Path("weights").mkdir()
pathlib.Path("weights/w.txt").write_text("trained")
made = track.artifact("mnist-model", aliases=["best"])
made.add_dir("weights")
made.finish()
pathlib.Path(os.environ["DANLU_MODEL_DIR"], "w.txt").write_text("registered")
"""
READS = """
import os, pathlib
from danlu import track
data = pathlib.Path(os.environ["DANLU_DATA_DIR"])
print("artifact", [str(path.relative_to(data)) for path in sorted(data.rglob("*.txt"))])
run = track.start("evaluates")
for ref in ("mnist-model:best", "mnist-model:1"):
    found = track.load_artifact(ref)
    print("loaded", found.name, found.version)
run.mark_input(found)
try:
    track.load_artifact("of-nobody")
except Exception as error:
    print("refused", type(error).__name__)
run.finish()
"""


def ran(client: Client, folder: Path, **fields: Any) -> tuple[Job, str]:
    job = client.jobs.submit(command="python main.py", code=folder, env={"PYTHONPATH": SOURCE}, **fields)
    ended = job.wait()
    log = "\n".join(line.text for line in job.logs())
    assert ended.state is JobState.SUCCEEDED, (ended.reason, log)
    return job, log


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    made = tmp_path / "makes", tmp_path / "reads"
    for folder, text in zip(made, (MAKES, READS)):
        folder.mkdir()
        (folder / "main.py").write_text(text)
    return made


def test_what_one_job_made_is_the_input_of_the_next(client: Client, folders: tuple[Path, Path]) -> None:
    first, _ = ran(client, folders[0], name="makes")
    model = client.models.register("cnn", job=first.id, aliases=["champion"])
    data = {"artifact:mnist-model:best": "m", "model:cnn@champion": "/models/cnn"}
    planned = client.jobs.plan(name="reads", command="true", data=data)
    version = client.artifacts.get("mnist-model:best")
    assert [one.source for one in planned.tasks[0].inputs] == [f"artifact:{version.id}", model.path]

    second, log = ran(client, folders[1], name="reads", data=data)
    assert "artifact ['m/w.txt']" in log.replace("weights/", "")
    assert "loaded mnist-model 1\nloaded mnist-model 1\nrefused" in log
    flow = client.flow(f"job:{second.id}", depth=1)
    edges = {(edge.source, str(edge.relation)) for edge in flow.edges if edge.target == f"job:{second.id}"}
    assert {(f"artifact:{version.id}", "data"), (f"model:{model.id}", "data")} <= edges
    above = client.flow(f"job:{second.id}", depth=3).nodes
    assert f"job:{first.id}" in above


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("artifact:of-nobody:best", "no artifact 'of-nobody'"),
        ("model:of-nobody@champion", "no model 'of-nobody'"),
        ("store://main/of-nobody/", "store://main/of-nobody/: the store has no object and no folder of that name"),
        ("store://of-nobody/x", "no bucket 'of-nobody'"),
        ("https://example.com/data.tar", "expected a checksum"),
        ("http://example.com/data.tar", "expected store://, artifact:, model:, https:// or s3://"),
        ("s3://bucket/data", "expected the name of a job secret"),
        ("s3://bucket/data#secret=KEYS", "'KEYS' is not one of the job's secrets"),
    ],
)
def test_an_input_that_is_not_there_is_refused_at_submit_and_in_a_plan(client: Client, source: str, told: str) -> None:
    before = {job.id for job in client.jobs.list(limit=5)}
    for do in (client.jobs.submit, client.jobs.plan):
        with pytest.raises(InvalidSpec) as refused:
            do(name="reads", command="true", data={source: "in"})
        assert told in str(refused.value)
    assert {job.id for job in client.jobs.list(limit=5)} == before
