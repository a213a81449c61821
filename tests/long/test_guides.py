"""The guides' own programs inside jobs on two nodes, as they are written but for a short table of substitutions.

    DANLU_GUIDES=FOLDER make test-long

The folder holds the guides as text, `000*.txt` to `004*.txt`. `-s` prints the table of docs/guide/guides.md.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.guides.test_guides import HERE, POINTS, files_of, finished
from tests.long.guide_steps import NOT_HERE, PROGRAM, STEPS, blocks, program, table

from danlu.client import Client
from danlu.client.cluster import catalogues
from danlu.testing.serving import RunningServer

pytestmark = pytest.mark.long
FOLDER = os.environ.get("DANLU_GUIDES", "")
RESULTS: dict[tuple[str, int], str] = {}


@pytest.fixture(scope="module", autouse=True)
def guides() -> Iterator[Path]:
    if not FOLDER:
        pytest.skip("DANLU_GUIDES names no folder with the guides")
    yield Path(FOLDER)
    print(f"\n{table(RESULTS)}")


def passed(guide: str, *numbers: int) -> None:
    RESULTS.update({(guide, number): PROGRAM for number in numbers})


def test_every_block_of_the_guides_is_known(guides: Path) -> None:
    known = {(step.guide, step.block): step for step in STEPS}
    for guide in sorted({step.guide for step in STEPS}):
        for number, text in enumerate(blocks(guides, guide)):
            step = known.pop((guide, number))
            assert step.has in text, f"{guide}, block {number} has changed: no {step.has!r} in it"
    assert known == {}
    assert {step.kind for step in STEPS} >= {PROGRAM, NOT_HERE}


def test_tione(make_server: Callable[..., RunningServer], guides: Path, tmp_path: Path) -> None:
    """All of it from a notebook, which is a job that may submit jobs."""
    steps = {f"step{number}": program(guides, "000", number) for number in (0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)}
    notebook = tmp_path / "notebook"
    (notebook / "code").mkdir(parents=True)
    names = {"num_nodes": "NODE_NUM", "node_index": "INDEX", "num_gpus": "GPU_NUM_PER_NODE", "maddr": "CHIEF_IP"}
    lines = [f"{name}=${{{variable}}}" for name, variable in names.items()]
    (notebook / "code" / "start_cloud.sh").write_text("\n".join([*lines, steps["step2"]]))
    (notebook / "code" / "start_local.sh").write_text(LOCAL)
    (notebook / "code" / "main.py").write_text(TRAINING.format(**steps))
    (notebook / "data").mkdir()
    (notebook / "data" / "points.json").write_text(json.dumps(POINTS))
    (notebook / "notebook.py").write_text(NOTEBOOK.format(**steps))
    (notebook / "show.py").write_text(SHOW)
    (notebook / "debug.sh").write_text(DEBUG.format(**steps))
    server = make_server("--simulate", "gpu:v100:2")
    with server.client() as client:
        wanted = catalogues.adapted(catalogues.parse(catalogues.read_text("ti-one")), devices_only=True)
        assert all(one.is_new for one in catalogues.load(wanted, flavors=client.flavors, frameworks=client.frameworks))
        client.store.make_bucket("demo-1256580188")
        job = client.jobs.submit(
            name="guide-000",
            access="owner",
            code={"path": str(notebook)},
            command="bash debug.sh && python3 show.py",
        )
        said = "\n".join(finished(job))
        task = client.jobs.get(re.findall(r"^trained (train-\d+)$", said, re.MULTILINE)[0])
        assert [line for line in finished(task) if line.startswith("rank ")] == ["rank 0 of 2", "rank 1 of 2"]
        assert all(word in said for word in ("rank 0 of 1", "rank 1 of 2", "torch1.9-py3.8-cuda11.1-gpu", "18.4008"))
        assert "push_training_metrics(" in said
        (run,) = client.runs.list(f"job = '{task.id}'")
        assert {metric.name for metric in run.metrics} == {"acc1", "acc5"}
        version = client.models.version("model1")
        assert (version.job, version.tags["inference-environment"]) == (task.id, "torch1.9.0-py38-cu111")
    passed("000", *(int(name.removeprefix("step")) for name in steps))


def test_t9k(client: Client, guides: Path, tmp_path: Path) -> None:
    """The fragments, one after the other, are a script; rank 0 of two nodes records."""
    code = tmp_path / "code"
    code.mkdir()
    steps = {f"step{number}": program(guides, "001", number) for number in range(1, 7)}
    (code / "train.py").write_text(RECORDED.format(**steps))
    job = client.jobs.submit(
        name="guide-001",
        launch="ddp",
        nodes=2,
        code={"path": str(code)},
        env={"OMP_NUM_THREADS": "1"},
        command="python3 train.py",
    )
    finished(job)
    (run,) = client.runs.list(f"job = '{job.id}' and name = 'mnist_torch_distributed'", folder="em-examples")
    assert run.state == "finished"
    assert (run.hparams["batch_size"], run.hparams["learning_rate"]) == (64, 0.002)
    assert {(metric.type, metric.name) for metric in run.metrics} == {
        ("train", "loss"),
        *((type, name) for type in ("val", "test") for name in ("loss", "accuracy")),
    }
    (made,) = client.flow(run.id, direction="down").of_kind("artifact")
    version = client.artifacts.get("em-examples/mnist_torch_saved_model")
    assert (made.id, version.num_files) == (f"artifact:{version.id}", 1)
    passed("001", *range(1, 7))


def test_apulis(client: Client, guides: Path, tmp_path: Path) -> None:
    code = shutil.copytree(HERE / "apulis", tmp_path / "Resnet50_HC")
    shutil.copy(code / "run_dis_rc1.sh", code / "run_apulis.sh")
    shutil.copy(code / "run_dis_rc1.sh", code / "run_8p.sh")
    (tmp_path / "images.txt").write_text("a b c")
    client.shared.put(code, "/data/")
    client.shared.put(tmp_path / "images.txt", "/data/Resnet50_HC_data/")
    for number, nodes, prefix in ((1, 1, "rank"), (2, 2, "rank")):
        job = client.jobs.submit(
            name=f"guide-002-{number}",
            launch="ascend",
            contract="apulis",
            nodes=nodes,
            resources={"device": "huawei_npu_arm64:2"},
            command=program(guides, "002", number).strip(),
        )
        assert len([line for line in finished(job) if line.startswith(prefix)]) == 2 * nodes
    look = client.jobs.submit(
        name="guide-002",
        contract="apulis",
        nodes=2,
        command=f"(\n{program(guides, '002', 0)}\necho opp $ASCEND_OPP_PATH\n)\n{program(guides, '002', 3)}",
    )
    lines = finished(look)
    assert len([line for line in lines if line.startswith("opp /usr/local/Ascend")]) == 2
    assert len([line for line in lines if line.endswith("run_8p.sh")]) == 2
    passed("002", 0, 1, 2, 3)


@pytest.mark.parametrize(("number", "single"), [(4, False), (5, True)])
def test_modelarts(client: Client, guides: Path, tmp_path: Path, number: int, single: bool) -> None:
    code = shutil.copytree(HERE / "modelarts", tmp_path / "code")
    (code / "ma-pre-start.sh").write_text(program(guides, "003", 2))
    (code / "run").mkdir()
    (code / "run" / "Ascend-cann-nnae_1.run").write_text("#!/bin/sh\necho upgraded $1\n")
    (tmp_path / "images.txt").write_text("a b c d")
    client.store.upload(tmp_path / "images.txt", "main/guide-003/")
    # the block is a part of a dict
    found = ast.literal_eval("{" + program(guides, "003", number).strip() + "}")["hyperparameters"]
    more = [*found, {"label": "device_num", "value": "2"}]  # eight cards a server are two here
    switch = dict([program(guides, "003", 6).strip().removeprefix("export ").split("=")]) if single else {}
    job = client.jobs.submit(
        name=f"guide-003-{number}",
        launch="ascend",
        processes="per_device",
        contract="modelarts",
        nodes=2,
        resources={"device": "npu:2"},
        code={"path": str(code)},
        data={"store://main/guide-003/": "data_url"},
        hyperparameters={one["label"]: one["value"] for one in more},
        env=switch,
        command="python3 train.py",
    )
    lines = finished(job)
    assert any("upgraded --upgrade" in line for line in lines)
    names = files_of(client, job)
    assert {"0/throughput_1.json", "1/throughput_1.json"} <= names if single else {"throughput_3.json"} <= names
    passed("003", 2, number, *([6] if single else []))


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="no mpirun: scripts/system-packages.sh tests")
def test_tiacc(client: Client, guides: Path, tmp_path: Path) -> None:
    import numpy as np
    from PIL import Image

    for number in range(8):
        folder = tmp_path / "val_demo" / ("cat" if number % 2 else "dog")
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((40, 50, 3), 30 * number, np.uint8)).save(folder / f"{number}.jpg")
    client.store.upload(tmp_path / "val_demo", "main/guide-004/")
    code = tmp_path / "code"
    code.mkdir()
    steps = {number: program(guides, "004", number) for number in (8, 9, 10, 11, 12, 13, 14)}
    (code / "train.sh").write_text(
        "set -e\ncp -r $DANLU_DATA_DIR/val_demo .\n"
        "ln -sfn \"$(python3 -c 'import tiacc_training as it; print(it.__path__[0])')\" tiacc_training\n"
        + steps[12]
        + steps[13]
        + "unset MASTER_ADDR MASTER_PORT\n"
        + steps[10]
    )
    (code / "train.py").write_text(PRELUDE.format(**{f"step{number}": text for number, text in steps.items()}))
    job = client.jobs.submit(
        name="guide-004",
        launch="mpi",
        nodes=2,
        resources={"device": "cpu:2"},
        code={"path": str(code)},
        data={"store://main/guide-004/": "val_demo"},
        env={"OMP_NUM_THREADS": "1"},
        command="sh train.sh",
    )
    lines = finished(job)
    assert sorted(line for line in lines if line.startswith("rank ")) == [
        f"rank {rank} of 4: records on rank 0 {8 if rank == 0 else 'elsewhere'}, trained" for rank in range(4)
    ]
    passed("004", *steps)


TRAINING = """
import argparse, json, os, pathlib, time
import torch, torch.distributed as dist
from torch import nn
parser = argparse.ArgumentParser()
parser.add_argument("data")
parser.add_argument("--local_rank", type=int, default=0)
args, _ = parser.parse_known_args()
args.gpu, args.print_freq = None, 10
{step3}
class AverageMeter:
    def __init__(self, *_):
        self.sum = self.count = 0
    def update(self, value, number=1):
        self.sum, self.count = self.sum + value * number, self.count + number
        self.avg = self.sum / self.count
class ProgressMeter:
    def __init__(self, *_, **__):
        pass
    def display(self, number):
        print("batch", number)
def accuracy(output, target, topk):
    ranked = output.topk(max(topk), 1).indices.eq(target[:, None])
    return [100 * ranked[:, :k].any(1).float().mean().reshape(1) for k in topk]
{step5}
torch.set_num_threads(1)
dist.init_process_group("gloo")
points = torch.tensor(json.loads((pathlib.Path(args.data) / "points.json").read_text()))
batch = (points[:, :2], (4 * points[:, 0]).long())
model = nn.parallel.DistributedDataParallel(nn.Linear(2, 8))
optimizer, criterion = torch.optim.SGD(model.parameters(), lr=0.1), nn.CrossEntropyLoss()
for epoch in range(2):
    optimizer.zero_grad()
    criterion(model(batch[0]), batch[1]).backward()
    optimizer.step()
    validate([batch], model, criterion, epoch, args)
print("rank", dist.get_rank(), "of", dist.get_world_size(), flush=True)
if dist.get_rank() == 0:
    torch.save(model.module.state_dict(), os.path.join(os.environ["DANLU_MODEL_DIR"], "model.pt"))
"""
LOCAL = "RANK=0 WORLD_SIZE=1 MASTER_ADDR=127.0.0.1 MASTER_PORT=29500 python3 main.py ../data\n"
DEBUG = """
set -e
mkdir -p ~/classify_example_2022-04-28 bin
cp -r code data ~/classify_example_2022-04-28/
echo true > bin/activate
PATH=$PWD/bin:$PATH
{step7}
"""
NOTEBOOK = """
import danlu
{step0}
{step4}
{step6}
{step8}
(task_id,) = [task.Id for task in client.describe_training_tasks().TrainingTaskSet if task.Name == "xxx5"]
danlu.Client().jobs.get(task_id).wait()
{step9}
{step10}
{step11}
print("trained", task_id)
"""
SHOW = """
import ast
world = {"__name__": "__main__"}
for statement in ast.parse(open("notebook.py").read()).body:
    exec(compile(ast.Interactive([statement]), "notebook.py", "single"), world)  # shows what a notebook shows
"""
RECORDED = """
import logging
import torch, torch.distributed as dist, torch.nn as nn, torch.optim as optim
torch.set_num_threads(1)
dist.init_process_group("gloo")
rank, world_size, kwargs, global_step = dist.get_rank(), dist.get_world_size(), {{}}, 0
train_dataset = torch.utils.data.TensorDataset(torch.randn(256, 1, 28, 28), torch.randint(0, 10, (256,)))
def distributed(net):
    def forward(self, x):
        x = self.pool(self.conv2(self.pool(self.conv1(x))))
        return self.dense2(self.dense1(self.conv3(x).flatten(1)))
    net.forward = forward
    return nn.parallel.DistributedDataParallel(net())
{step1}
{step2}
{step3}
{step4}
train(scheduler)
test(val=True, epoch=epochs)
test(epoch=epochs)
{step5}
{step6}
"""
PRELUDE = """
import os
os.environ.pop("MASTER_ADDR", None), os.environ.pop("MASTER_PORT", None)
{step8}
{step9}
import torch, torch.distributed as dist
torch.set_num_threads(1)
dist.init_process_group("gloo")
rank = dist.get_rank()
tfrecored_dir, tfrecord_file, transform = ".", "val_demo.index", None
records = "elsewhere"
if rank == 0:
    {step11}
    records = len(train_dataset)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 2))
optimizer, criterion = torch.optim.SGD(model.parameters(), lr=0.1), torch.nn.MSELoss()
inputs, targets = torch.randn(8, 4), torch.randn(8, 2)
policy, start_step, hold_step, end_step, test_interval, test_step = 0, 0, 1, 5, 1000, 100
epoch, lr, loss = 1, 0.1, 1.0
{step14}
print(f"rank {{rank}} of {{dist.get_world_size()}}: records on rank 0 {{records}}, trained", flush=True)
dist.barrier()
os._exit(0)
"""
