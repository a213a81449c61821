"""The cases of the guides of the platforms that Danlu stands in for, inside jobs on two nodes.

The scripts beside this file make the calls that the guides make; the guides themselves are run by
`tests/long/test_guides.py`. That of t9k is in `test_em.py`.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tests.long.guide_steps import PROGRAM, STEPS, table

from danlu.client import Client
from danlu.client.jobs.job import Job
from danlu.spec.states import JobState
from danlu.testing.serving import RunningServer

HERE = Path(__file__).parent
POINTS = [[x / 8, y / 8, (x + y) / 8] for x in range(4) for y in range(4)]


def said(job: Job) -> list[str]:
    return [line.text.strip() for line in job.logs()]


def finished(job: Job) -> list[str]:
    """Wait for a job that has to succeed, and return its lines, sorted."""
    ended = job.wait()
    assert ended.state is JobState.SUCCEEDED, "\n".join(said(job)[-60:])
    return sorted(said(job))


def files_of(client: Client, job: Job, folder: str = "jobs") -> set[str]:
    """The paths of what the job left in the store."""
    prefix = f"{folder}/{job.id}/"
    return {item.key[len(prefix) :] for item in client.store.list(f"main/{prefix}")}


def upload_points(client: Client, tmp_path: Path) -> None:
    (tmp_path / "points.json").write_text(json.dumps(POINTS))
    client.store.upload(tmp_path / "points.json", "main/notebook-demo-classification/data/")


def check_tione(client: Client, job: Job, folder: str = "jobs") -> None:
    lines = finished(job)
    # the ranks of a node write to one file, and an unbuffered print writes a line and its end one after the other
    assert sorted(re.findall(r"rank \d of \d, local rank \d of \d", "\n".join(lines))) == [
        "rank 0 of 4, local rank 0 of 2",
        "rank 1 of 4, local rank 1 of 2",
        "rank 2 of 4, local rank 0 of 2",
        "rank 3 of 4, local rank 1 of 2",
    ]
    assert files_of(client, job, folder) == {"model/model.pt"}
    (run,) = client.runs.list(f"job = '{job.id}'")
    assert {metric.name: metric.last for metric in run.metrics} == {"acc1": 52.0, "acc5": 90.0}


def test_the_table_of_the_docs_is_what_the_guides_are_run_by() -> None:
    """`tests/long/test_guides.py` runs what it says."""
    everything_ran = {(step.guide, step.block): PROGRAM for step in STEPS if step.kind == PROGRAM}
    assert table(everything_ran) in (HERE.parents[1] / "docs" / "guide" / "guides.md").read_text()


class TestTiOne:
    """Data and code in the store, a two-node DDP job by `sh start_cloud.sh`, metrics, the model; all of it by tikit."""

    @pytest.fixture
    def catalogue(self, client: Client) -> Iterator[None]:
        """TI-ONE's kinds of names, for machines that are here."""
        client.flavors.add("TI.GUIDE.POST", device="cpu:2", price_per_hour="1")
        client.frameworks.add("torch1.9-guide", title="PYTORCH", launch=["ddp"])
        client.frameworks.add("torch1.9-guide-inference", title="PYTORCH", purpose="inference")
        yield
        client.flavors.remove("TI.GUIDE.POST")
        for name in ("torch1.9-guide", "torch1.9-guide-inference"):
            client.frameworks.remove(name)

    @pytest.mark.usefixtures("catalogue")
    def test_from_a_notebook_in_a_sandbox_with_the_paths_of_the_guide(self, client: Client) -> None:
        notebook = client.jobs.submit(
            name="notebook",
            access="owner",
            code={"path": str(HERE / "tione")},
            command=["python3", "notebook.py", json.dumps(POINTS)],
        )
        lines = finished(notebook)
        job = client.jobs.get(re.findall(r"^(train-\d+) SUCCEED$", "\n".join(lines), re.MULTILINE)[0])
        check_tione(client, job, folder="output")
        assert any("rank 3 of 4, local rank 1 of 2" in line for line in lines)
        version = client.models.version("model1")
        assert (version.job, version.tags["inference-environment"]) == (job.id, "torch1.9-guide-inference")
        (event,) = client.audit(object=f"job/{job.id}")
        assert (event.actor, event.via) == ("admin", f"job {notebook.id}/1")

    def test_without_a_sandbox(self, make_server: Callable[..., RunningServer], tmp_path: Path) -> None:
        server = make_server("--no-sandbox")
        with server.client() as client:
            upload_points(client, tmp_path)
            job = client.jobs.submit(
                name="xxx6",
                launch="ddp",
                contract="tione",
                nodes=2,
                resources={"device": "cpu:2"},
                code={"path": str(HERE / "tione")},
                data={"store://main/notebook-demo-classification/data/": "image_classify"},
                command="DATA=$DANLU_DATA_DIR/image_classify sh start_cloud.sh",
            )
            check_tione(client, job)


class TestApulis:
    """`/data`, `/pod.env`, `sudo -E bash -c`, the old rank table, logs in the home folder; in an image."""

    @pytest.fixture
    def image(self, client: Client, tmp_path: Path) -> Iterator[str]:
        (node,) = client.nodes()
        if node.image_tool not in ("podman", "docker") or shutil.which("busybox") is None:
            pytest.skip(f"no images here: {node.image_problem or 'scripts/system-packages.sh tests installs busybox'}")
        name = "localhost/danlu-guide-tf:1.15-rc1"
        root = tmp_path / "image"
        make_image(root)
        packed = subprocess.run(["tar", "-C", str(root), "-c", "."], check=True, capture_output=True)
        words = [node.image_tool, "import", "-c", "ENV PATH=/bin", "-", name]
        subprocess.run(words, input=packed.stdout, check=True, capture_output=True)
        yield name
        subprocess.run([node.image_tool, "rmi", "--force", name], check=False, capture_output=True)

    def test_the_command_of_the_guide_on_two_nodes(self, client: Client, image: str, tmp_path: Path) -> None:
        (tmp_path / "images.txt").write_text("a b c")
        client.shared.put(HERE / "apulis", "/data/Resnet50_HC")
        client.shared.put(tmp_path / "images.txt", "/data/Resnet50_HC_data/")
        command = "source /pod.env && cp -r /data/Resnet50_HC /tmp/ && cd /tmp/Resnet50_HC/  && ./run_dis_rc1.sh"
        job = client.jobs.submit(
            name="tf115_npu_2p",
            launch="ascend",
            contract="apulis",
            nodes=2,
            resources={"device": "huawei_npu_arm64:2"},
            image=image,
            command=f"sudo -E bash -c '{command}'",
        )
        lines = finished(job)
        assert lines == [
            f"rank {rank} of 4, devices {'0,1' if rank < 2 else '2,3'}, 3 images, the image" for rank in range(4)
        ]
        look = client.jobs.submit(
            name="looks",
            contract="apulis",
            command=f"ls ~/tensorboard/{job.id}/logs; cat ~/jobs/{job.id}/logs/joblog-1-0.txt | sort | tail -n 1",
        )
        events = [f"events.{rank}" for rank in range(4)]
        assert finished(look) == sorted([*events, "rank 1 of 4, devices 0,1, 3 images, the image"])
        assert list(client.store.list("main/.to-data/")) == []


class TestModelArts:
    """Hyperparameters as label and value, `ma-pre-start.sh`, a result for each rank; and SINGLESERVER_MODE."""

    @pytest.mark.parametrize("single", [False, True], ids=["one-cluster", "single-servers"])
    def test_every_rank_leaves_its_throughput(self, client: Client, tmp_path: Path, single: bool) -> None:
        (tmp_path / "images.txt").write_text("a b c d")
        client.store.upload(tmp_path / "images.txt", "main/imagenet/")
        values = {"config_path": "resnet50.yaml", "enable_modelarts": "True", "epoch_size": "5", "device_num": "2"}
        job = client.jobs.submit(
            name="aisbench",
            launch="ascend",
            processes="per_device",
            contract="modelarts",
            nodes=2,
            resources={"device": "npu:2"},
            code={"path": str(HERE / "modelarts")},
            data={"store://main/imagenet/": "data_url"},
            hyperparameters=[{"label": name, "value": value} for name, value in values.items()],
            env={"SINGLESERVER_MODE": "True"} if single else {},
            command="python3 train.py",
        )
        lines = finished(job)
        found = sorted(re.findall(r"server (\d), rank (\d) of (\d), log level 3, resnet50.yaml", "\n".join(lines)))
        ranks = (
            [("0", "0"), ("0", "1"), ("1", "0"), ("1", "1")]
            if single
            else [("0", "0"), ("0", "1"), ("1", "2"), ("1", "3")]
        )
        assert found == [(*one, "2" if single else "4") for one in ranks]
        results = {name for name in files_of(client, job) if "throughput" in name or "accuracy" in name}
        if single:
            assert results == {
                f"{server}/{name}"
                for server in range(2)
                for name in ("throughput_0.json", "throughput_1.json", f"accuracy_{server}.json")
            }
        else:
            assert results == {"accuracy.json", *(f"throughput_{rank}.json" for rank in range(4))}
        one = "0/throughput_1.json" if single else "throughput_3.json"
        (local,) = client.store.download(f"main/jobs/{job.id}/{one}", tmp_path / "one")
        assert local.read_text() == "10.0"


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="no mpirun: scripts/system-packages.sh tests")
class TestTiAcc:
    """The tools, the mpirun line with `eth0`, records, the exchange, mixed precision, `all_reduce`."""

    def test_the_lines_of_the_guide(self, client: Client, tmp_path: Path) -> None:
        for number in range(8):
            folder = tmp_path / "val_demo" / ("cat" if number % 2 else "dog")
            folder.mkdir(parents=True, exist_ok=True)
            Image.fromarray(np.full((40, 50, 3), 30 * number, np.uint8)).save(folder / f"{number}.jpg")
        client.store.upload(tmp_path / "val_demo", "main/val_demo/")
        job = client.jobs.submit(
            name="tiacc",
            launch="mpi",
            nodes=2,
            resources={"device": "cpu:2"},
            code={"path": str(HERE / "tiacc")},
            data={"store://main/val_demo/": "val_demo"},
            env={"OMP_NUM_THREADS": "1"},
            command="sh train.sh",
        )
        # ranks of one task write into one file: lines of two of them may run together
        told = re.findall(r"rank \d of 4: .*? hosts found", "\n".join(finished(job)))
        assert sorted(told) == [
            f"rank {rank} of 4: 8 records, sum 4, weights equal, precision [False, True, True, True], 2 hosts found"
            for rank in range(4)
        ]
        assert files_of(client, job) == {"val_demo.tfrecord", "val_demo.idx", "val_demo.index"}


def make_image(root: Path) -> None:
    """A root folder with busybox, bash and what bash needs."""
    busybox, bash = shutil.which("busybox"), shutil.which("bash")
    assert busybox is not None
    assert bash is not None
    for folder in ("bin", "etc"):
        (root / folder).mkdir(parents=True)
    shutil.copy(busybox, root / "bin" / "busybox")
    for name in subprocess.run([busybox, "--list"], check=True, capture_output=True, text=True).stdout.split():
        if name not in ("busybox", "bash"):
            (root / "bin" / name).symlink_to("busybox")
    shutil.copy(bash, root / "bin" / "bash")
    for library in re.findall(
        r"(/\S+) \(0x", subprocess.run(["ldd", bash], check=True, capture_output=True, text=True).stdout
    ):
        target = root / library.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, target)
    (root / "etc" / "passwd").write_text("root:x:0:0:root:/:/bin/sh\n")
    (root / "etc" / "motd").write_text("the image\n")
