"""From upload to registered model: data and code go up, a job on two nodes trains, its output becomes a model.

The graph is checked node by node, before and after what it is made of was deleted.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import danlu
from danlu.client import Client
from danlu.client.tracking.flow import Flow
from danlu.spec.states import JobState
from danlu.testing.serving import RunningServer

SOURCE = str(Path(danlu.__file__).parents[1])
TRAIN = """
import os, pathlib
from danlu import track

data = pathlib.Path(os.environ["DANLU_DATA_DIR"], "image_classify")
rows = (data / "labels.csv").read_text().split()
if os.environ["INDEX"] == "0":
    run = track.start("classify", {"lr": 0.01, "epochs": 2})
    for epoch in (1, 2):
        run.log("val", {"acc1": 40.0 * epoch, "acc5": 45.0 * epoch}, step=epoch, epoch=epoch)
    run.finish()
    weights = pathlib.Path(os.environ["DANLU_MODEL_DIR"], "weights.txt")
    weights.write_text(" ".join(rows))
"""


def shape(flow: Flow) -> tuple[dict[str, str], set[tuple[str, str, str]]]:
    """What each node is called, and the edges."""
    names = {name: f"{node.label}{' (deleted)' if node.deleted_at else ''}" for name, node in flow.nodes.items()}
    return names, {(edge.source, str(edge.relation), edge.target) for edge in flow.edges}


def submit(client: Client, folder: Path) -> str:
    """Data and code go up by hand, as people do it; a job on two nodes reads both."""
    (folder / "data").mkdir()
    (folder / "data" / "labels.csv").write_text("cat dog")
    (folder / "code").mkdir()
    (folder / "code" / "main.py").write_text(TRAIN)
    (folder / "code" / "start_cloud.sh").write_text("python main.py\n")
    client.store.upload(folder / "data", "main/demo-classification/data/")
    client.store.upload(folder / "code", "main/demo-classification/code/")
    job = client.jobs.submit(
        name="classify",
        nodes=2,
        launch="ddp",
        command="sh start_cloud.sh",
        code="store://main/demo-classification/code/",
        data={"store://main/demo-classification/data/": "/opt/ml/input/data/image_classify"},
        output="store://main/output/",
        env={"PYTHONPATH": SOURCE},
    )
    assert job.wait().state is JobState.SUCCEEDED, "\n".join(line.text for line in job.logs())
    return job.id


def test_from_upload_to_registered_model(client: Client, server: RunningServer, tmp_path: Path) -> None:
    job = submit(client, tmp_path)
    (run,) = (one.id for one in client.runs.list(job=job) if not one.is_own)
    made = client.models.register("classifier", job=job, format="PYTORCH", image="torch:2", aliases=["champion"])
    assert (made.version, made.metrics, made.hparams["lr"]) == (1, {"val/acc1": 80.0, "val/acc5": 90.0}, 0.01)
    assert client.jobs.get(job).details.models == ["classifier:1"]
    files = client.models.download("classifier:champion", tmp_path / "model")
    assert [(file.name, file.read_text()) for file in files] == [("weights.txt", "cat dog")]

    data, code, output = "demo-classification/data/", "demo-classification/code/", f"output/{job}/"
    names, edges = shape(client.flow(made.id, depth=3))
    wanted = {
        f"model:{made.id}": "classifier:1",
        f"store:main/{output}": f"store://main/{output}",
        f"job:{job}": "classify",
        f"store:main/{data}": f"store://main/{data}",
        f"store:main/{code}": f"store://main/{code}",
    }
    assert names == wanted
    lineage = {
        (f"store:main/{data}", "data", f"job:{job}"),
        (f"store:main/{code}", "code", f"job:{job}"),
        (f"job:{job}", "output", f"store:main/{output}"),
        (f"store:main/{output}", "registered", f"model:{made.id}"),
    }
    assert edges == lineage
    whole, all_edges = shape(client.flow(f"job:{job}"))
    assert whole == {**wanted, f"run:{run}": "classify"}
    assert all_edges == lineage | {(f"job:{job}", "made", f"run:{run}")}
    check_command(server, job, made.id)

    client.jobs.get(job).delete()
    client.store.delete(f"main/{output}")
    names, edges = shape(client.flow(made.id, direction="up"))
    assert names == {
        **wanted,
        f"job:{job}": "classify (deleted)",
        f"store:main/{output}": f"store://main/{output} (deleted)",
    }
    assert edges == lineage
    assert [file.read_text() for file in client.models.download("classifier:1", tmp_path / "again")] == ["cat dog"]


def check_command(server: RunningServer, job: str, model: str) -> None:
    """`danlu show` names the model; `danlu flow` draws each node once."""
    shown = run_command(server, "show", job)
    assert "models     classifier:1 (danlu models show classifier:1)" in shown
    drawn = run_command(server, "flow", "model:classifier:champion", "--up").splitlines()
    assert [line.split()[1] for line in drawn if line.split()[0] in "□■★"][-1] == "model"
    assert [sum(word in line for line in drawn) for word in (job, model, "demo-classification/code/")] == [2, 1, 1]
    found = json.loads(run_command(server, "flow", job, "--json", "--down"))
    assert {node["kind"] for node in found["nodes"]} == {"job", "run", "store", "model"}


def run_command(server: RunningServer, *words: str) -> str:
    env = {"PATH": "/usr/bin:/bin", "PYTHONPATH": SOURCE, "DANLU_URL": server.url, "DANLU_API_KEY": server.api_key}
    done = subprocess.run([sys.executable, "-m", "danlu", *words], capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
