"""The guides' own programs inside jobs on two nodes, as they are written but for a short table of substitutions.

    DANLU_GUIDES=FOLDER make test-long

The folder holds the guides as text, `000*.txt` to `004*.txt`. `-s` prints the table of docs/guide/guides.md.
"""

from __future__ import annotations

import ast
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.guides.test_guides import HERE, files_of, finished, upload_points
from tests.long.guide_steps import NOT_HERE, PROGRAM, STEPS, blocks, program

from danlu.client import Client

pytestmark = pytest.mark.long
FOLDER = os.environ.get("DANLU_GUIDES", "")
RESULTS: dict[tuple[str, int], str] = {}


@pytest.fixture(scope="module", autouse=True)
def guides() -> Iterator[Path]:
    if not FOLDER:
        pytest.skip("DANLU_GUIDES names no folder with the guides")
    yield Path(FOLDER)
    print("\n| guide | block | what | result |\n|---|---|---|---|")
    for step in STEPS:
        result = RESULTS.get((step.guide, step.block), "not run") if step.kind == PROGRAM else step.kind
        print(f"| {step.guide} | {step.block} | {step.what} | {result} |")


def passed(guide: str, *numbers: int) -> None:
    RESULTS.update({(guide, number): "runs" for number in numbers})


def test_every_block_of_the_guides_is_known(guides: Path) -> None:
    known = {(step.guide, step.block): step for step in STEPS}
    for guide in sorted({step.guide for step in STEPS}):
        for number, text in enumerate(blocks(guides, guide)):
            step = known.pop((guide, number))
            assert step.has in text, f"{guide}, block {number} has changed: no {step.has!r} in it"
    assert known == {}
    assert {step.kind for step in STEPS} >= {PROGRAM, NOT_HERE}


def test_tione(client: Client, guides: Path, tmp_path: Path) -> None:
    upload_points(client, tmp_path)
    code = shutil.copytree(HERE / "tione", tmp_path / "code")
    names = {"num_nodes": "NODE_NUM", "node_index": "INDEX", "num_gpus": "GPU_NUM_PER_NODE", "maddr": "CHIEF_IP"}
    lines = [f"{name}=${{{variable}}}" for name, variable in names.items()]
    (code / "start_cloud.sh").write_text("\n".join([*lines, program(guides, "000", 2)]))
    job = client.jobs.submit(
        name="guide-000",
        launch="ddp",
        contract="tione",
        nodes=2,
        resources={"device": "cpu:2"},
        code={"path": str(code)},
        data={"store://main/notebook-demo-classification/data/": "/opt/ml/input/data/image_classify"},
        command="sh start_cloud.sh",
    )
    assert len([line for line in finished(job) if line.startswith("rank ")]) == 4
    passed("000", 2)


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
