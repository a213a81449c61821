"""A small team at work, for the pictures of the guide: people, data, jobs, runs, artifacts and models on a real server.

Nothing is drawn by hand: jobs run, journals are synced, the graph is what the server noted. Only the training is not:
its curves come from formulas, so that the pictures are made in a minute on any machine.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from danlu.client import Client, Job
from danlu.client.people.keys import sign_in
from danlu.testing.serving import RunningServer
from danlu.wire.auth import SignIn

PASSWORD = "correct horse battery"

TRAIN = '''"""ResNet on CIFAR-10, two nodes, PyTorch DDP."""

import json, math, os, random, time
from pathlib import Path

from danlu import track

wanted = json.loads(Path(os.environ["DANLU_HYPERPARAMETERS"]).read_text())
lr, width, steps, batch = (wanted[name] for name in ("lr", "width", "steps", "batch_size"))
chance = random.Random(json.dumps(wanted))
# a long one hurries through its first half, and then takes its time, a part of a core and some memory
hurry, pause = (2200, 0.05) if steps > 2000 else (0, 0.005)
held = bytearray(os.urandom(1 << 20)) * (180 if hurry else 1)
run = track.start(os.environ["DANLU_JOB_NAME"], folder="cifar10", hparams=wanted, labels=["resnet"])
run.total_steps(steps)
# how well these hyperparameters do: best near a learning rate of 0.1, better with more channels
top = 0.952 - 0.035 * abs(math.log10(lr / 0.1)) - 0.9 / width
speed = 150 * (1 + 1.3 * abs(math.log10(lr / 0.1)))
for step in range(steps):
    part = step / steps
    drop = 0.35 if part > 0.8 else 0.6 if part > 0.5 else 1.0  # the rate falls twice
    loss = drop * (2.2 * math.exp(-step / speed) + 0.22 + (1 - top)) + chance.gauss(0, 0.05) * drop
    rate = lr * (0.1 if part > 0.5 else 1) * (0.1 if part > 0.8 else 1)
    run.log("train", {"loss": max(loss, 0.02), "lr": rate}, step=step, epoch=step / 100)
    if step % 100 == 99:
        right = top - 0.62 * math.exp(-step / speed / 1.4) - 0.045 * (drop - 0.35) + chance.gauss(0, 0.004)
        run.log("val", {"accuracy": right, "loss": loss * 1.12 + 0.05}, step=step, epoch=step / 100)
        if run.state == "running" and os.environ.get("DANLU_RANK", "0") == "0":
            print(f"epoch {step // 100 + 1:3d}: loss {loss:.4f}, accuracy {right:.1%}, lr {rate:g}", flush=True)
    elif step % 20 == 0 and hurry:
        print(f"step {step:5d}: loss {loss:.4f}, {4800 + chance.gauss(0, 90):.0f} images/s", flush=True)
    if step > hurry:
        if hurry:
            sum(math.sin(number) for number in range(int(120_000 * (1.4 if step % 100 < 15 else 1))))
        time.sleep(pause)
run.summary["best_accuracy"] = round(top, 4)
model = Path(os.environ["DANLU_MODEL_DIR"])
if os.environ.get("DANLU_RANK", "0") == "0":
    (model / "model.safetensors").write_bytes(os.urandom(180_000))
    (model / "config.json").write_text(json.dumps({"arch": "resnet18", "width": width, "classes": 10}, indent=2))
    made = track.artifact("cifar10-resnet").add_file(model / "model.safetensors").add_file(model / "config.json")
    run.mark_output(made)
run.finish()
'''
WORDS = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


class Scene(NamedTuple):
    live: str
    """A job that trains now."""

    best: str
    """The job of the best run."""

    failed: str
    waits: str
    npu: str
    runs: list[str]
    artifact: str


def set_up(server: RunningServer) -> Scene:
    with server.client() as admin:
        admin.set_password(PASSWORD)
        make_team(admin)
        offer_flavors(admin)
    lin, grace = (member(server, name) for name in ("lin", "grace"))
    with lin, grace, tempfile.TemporaryDirectory() as folder:
        data = make_data(lin, Path(folder))
        code = Path(folder) / "code"
        code.mkdir()
        (code / "train.py").write_text(TRAIN)
        (code / "README.md").write_text("# ResNet on CIFAR-10\n")
        made = [train(lin, code, data, number, **wanted) for number, wanted in enumerate(SWEEP, start=1)]
        for job in made:
            job.wait(timeout=120)
        npu, waits = fill_npus(grace)
        failed = lin.jobs.submit(
            name="imagenet-data-check",
            project="vision",
            command="echo 'checking 1281167 files'; python3 -c 'open(\"/opt/ml/input/data/imagenet/index.bin\")'",
            nodes=2,
        )
        failed.wait(timeout=60)
        live = train(lin, code, data, 7, name="cifar10-resnet50", nodes=2, lr=0.1, width=128, steps=4000)
        wait_until(lambda: len(list(lin.runs.list(folder="cifar10"))) >= len(SWEEP) + 1)
        wait_until(lambda: sum(one.latest.version for one in lin.artifacts.list() if one.latest) >= len(SWEEP))
        best = made[BEST]
        wait_until(lambda: bool(lin.flow(f"job:{best.id}", direction="down").of_kind("artifact")))
        artifact = lin.flow(f"job:{best.id}", direction="down").of_kind("artifact")[0]
        register(lin, made, artifact.label)
        evaluate(lin, best)
        runs = [run.id for run in lin.runs.list(folder="cifar10") if run.job != live.id and not run.is_own]
        time.sleep(6)  # the live run gets somewhere
        return Scene(live.id, best.id, failed.id, waits.id, npu.id, runs[:5], artifact.key or "")


SWEEP = (
    {"lr": 0.03, "width": 64},
    {"lr": 0.1, "width": 64},
    {"lr": 0.3, "width": 64},
    {"lr": 0.1, "width": 32},
    {"lr": 0.1, "width": 128},
    {"lr": 1.0, "width": 64},
)
BEST = 4


def make_team(admin: Client) -> None:
    admin.projects.make("vision", description="Pictures: classification and detection")
    admin.projects.make("language", description="Large language models on NPUs")
    admin.store.make_bucket("vision", project="vision")
    admin.store.make_bucket("language", project="language")
    for name, full_name, project, role in (
        ("lin", "Lin Wei", "vision", "owner"),
        ("grace", "Grace Chen", "language", "owner"),
        ("tom", "Tom Becker", "vision", "member"),
        ("yuki", "Yuki Mori", "language", "member"),
    ):
        admin.people.register(name, PASSWORD, full_name=full_name, email=f"{name}@example.org")
        admin.people.approve(name, project=project, role=role)
    admin.projects.set_member("language", "lin", "viewer")
    admin.people.register("kai", PASSWORD, full_name="Kai Zhang", email="kai@example.org", note="vision, starts Monday")
    admin.people.register("mira", PASSWORD, full_name="Mira Novak", email="mira@example.org", note="intern with Grace")
    admin.quotas.set("vision", {"npu": 4, "cpus": 64})
    admin.quotas.set("language", {"npu": 12, "cpus": 128}, users={"yuki": {"npu": 4}})


def offer_flavors(admin: Client) -> None:
    admin.flavors.add("cpu-small", device="cpu:1", cpus=1, memory="2GiB", price_per_hour="0.2")
    admin.flavors.add("npu-910b-2", device="npu:910b:2", price_per_hour="24")
    admin.flavors.add("npu-910b-8", device="npu:910b:8", price_per_hour="88")


def member(server: RunningServer, name: str) -> Client:
    made = sign_in(server.url, SignIn(name=name, password=PASSWORD), key_name="laptop")
    return Client(url=server.url, api_key=made.api_key)


def make_data(client: Client, folder: Path) -> str:
    """Upload pictures, and have a job make shards of them. Return where the shards are."""
    raw = folder / "cifar10"
    raw.mkdir()
    for number in range(1, 6):
        (raw / f"data_batch_{number}.bin").write_bytes(os.urandom(260_000 + 7_000 * number))
    (raw / "test_batch.bin").write_bytes(os.urandom(300_000))
    rows = "\n".join(f"{number},{word},5000,1000" for number, word in enumerate(WORDS))
    (raw / "labels.csv").write_text(f"label,name,train,test\n{rows}\n")
    (raw / "README.md").write_text("# CIFAR-10\n\n60,000 pictures of 32×32 pixels in ten classes.\n")
    client.store.upload(raw, "store://vision/cifar10/")
    command = (
        'cd "$DANLU_DATA_DIR/cifar10" && for one in *_batch*; do echo "packing $one"; '
        'cp "$one" "$DANLU_OUTPUT_DIR/${one%.bin}.tfrecord"; done; cp labels.csv "$DANLU_OUTPUT_DIR"'
    )
    job = client.jobs.submit(
        name="cifar10-records",
        project="vision",
        command=command,
        data={"store://vision/cifar10/": "cifar10"},
        output="store://vision/records",
    )
    return job.wait(timeout=60).output


def train(
    client: Client, code: Path, data: str, number: int, *, name: str = "", nodes: int = 1, **wanted: float
) -> Job:
    values = {"steps": 1500, "batch_size": 256, **wanted}
    return client.jobs.submit(
        name=name or f"cifar10-lr{wanted['lr']:g}-w{wanted['width']:g}",
        project="vision",
        command="python3 -u train.py",
        nodes=nodes,
        launch="ddp" if nodes > 1 else "plain",
        code=str(code),
        data={data: "cifar10"},
        output="store://vision/results",
        hyperparameters=values,
        tags={"sweep": "resnet"} if not name else {"team": "vision"},
        priority=50 + number % 2,
        **({"flavor": "cpu-small"} if name else {}),
    )


def fill_npus(client: Client) -> tuple[Job, Job]:
    """One job that holds most NPUs, and some that wait for them."""
    sft = client.jobs.submit(
        name="llama-8b-sft",
        project="language",
        command="echo 'loaded 8.03 B parameters in 4 shards'; sleep 900",
        launch="ascend",
        resources={"device": "npu:910b:8"},
        preemptible=True,
        tags={"model": "llama-8b"},
    )
    wait_until(lambda: sft.refresh().state.value == "running")
    waits = client.jobs.submit(
        name="llama-8b-eval",
        project="language",
        command="sleep 900",
        resources={"device": "npu:910b:4"},
        preemptible=True,
    )
    for name, count in (("qwen-lora", 2), ("tokenizer-bench", 1)):
        client.jobs.submit(
            name=name,
            project="language",
            command="sleep 900",
            resources={"device": f"npu:910b:{count}"},
            preemptible=True,
            priority=40,
        )
    return sft, waits


def register(client: Client, made: list[Job], artifact: str) -> None:
    about = {"project": "vision", "format": "safetensors", "description": "ResNet for ten classes of small pictures"}
    for job, aliases in ((made[0], []), (made[1], ["staging"])):
        client.models.register("cifar10-resnet", job=job.id, folder="model", aliases=aliases, **about)
    client.models.register("cifar10-resnet", artifact=artifact, aliases=["champion"], **about)


def evaluate(client: Client, best: Job) -> None:
    client.jobs.submit(
        name="cifar10-eval",
        project="vision",
        command='ls "$DANLU_DATA_DIR/model"; echo "{}" > "$DANLU_OUTPUT_DIR/confusion.json"',
        data={f"{best.output}model/": "model", "store://vision/cifar10/": "cifar10"},
        output="store://vision/reports",
    ).wait(timeout=60)


def wait_until(is_true: Callable[[], bool], *, seconds: float = 90) -> None:
    deadline = time.monotonic() + seconds
    while not is_true():
        if time.monotonic() > deadline:
            raise TimeoutError("the scene is not ready")
        time.sleep(0.2)
