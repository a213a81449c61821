"""Tencent Cloud's own SDK, as the package index has it, in an environment of its own, against the door."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import end_server

from danlu.client.cluster import catalogues
from danlu.testing.serving import RunningServer
from tikit.tencentcloud.common.abstract_model import AbstractModel
from tikit.tencentcloud.tione.v20211111 import models as wire

BUCKET = "demo-1256580188"
STEPS = 510
OURS = {"OnlyRequestId", "Shown"}
"""Classes that only we have."""


@pytest.fixture(scope="module")
def sdk_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sdk") / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / "bin" / "python"
    done = subprocess.run([python, "-m", "pip", "install", "-q", "tikit"], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"tikit cannot be installed: {done.stderr[-300:]}")
    return python


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    running = RunningServer(tmp_path_factory.mktemp("server") / "data", "--simulate", "gpu:v100:2")
    running.env["DANLU_SERVER_TENCENT_DOOR"] = "true"
    running.start()
    yield running
    end_server(running)


@pytest.fixture(scope="module")
def told(server: RunningServer, sdk_python: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Any]:
    """What the journey printed, and what it found."""
    with server.client() as client:
        wanted = catalogues.adapted(catalogues.parse(catalogues.read_text("ti-one")), devices_only=True)
        assert all(one.is_new for one in catalogues.load(wanted, flavors=client.flavors, frameworks=client.frameworks))
        client.store.make_bucket(BUCKET)
        secret_id, _, secret_key = client.keys.make("sdk", signs=True).api_key.partition(".")
    script = Path(__file__).with_name("tencent_journey.py")
    folder = tmp_path_factory.mktemp("journey")
    words = [str(sdk_python), str(script), server.url, secret_id, secret_key, BUCKET, str(STEPS), str(folder)]
    env = {"HOME": str(folder), "PATH": "/usr/bin:/bin", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(words, capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr}"
    said, _, found = done.stdout.rstrip().rpartition("\n")
    return said, json.loads(found)


@pytest.mark.long
class TestTheSdk:
    def test_files_go_there_and_back(self, told: tuple[str, Any]) -> None:
        found = told[1]["storage"]
        tree = ["sdk/tree/inner/中文 name.txt", "sdk/tree/large.bin"]
        assert found["listed"] == ["sdk/", *tree, "sdk/中文 name.txt"]
        assert found["same"]
        assert found["folders"] == ["sdk/tree/"]
        assert BUCKET in found["buckets"]
        assert (found["exists"], found["is_dir"], found["left"]) == ([True, True, False], True, [])

    def test_the_journey(self, server: RunningServer, told: tuple[str, Any]) -> None:
        said, found = told
        task_id = found["rest"]["task"]
        assert all(word in said for word in ("torch1.9-py3.8-cuda11.1-gpu", "18.4008", f"{task_id} SUCCEED")), said
        assert int(said.partition(" lines of log")[0].rpartition(" ")[2]) >= 2 * STEPS
        with server.client() as client:
            version = client.models.version("dots-model")
            keys = {one.key for one in client.store.list(f"{BUCKET}/")}
        assert f"output/{task_id}/model/model.pt" in keys
        assert (version.job, version.format, version.framework) == (task_id, "pytorch", "PYTORCH")
        assert version.tags["inference-environment"] == "torch1.9.0-py38-cu111"
        assert version.metrics["acc1"] == 100.0

    def test_the_rest(self, told: tuple[str, Any]) -> None:
        found = told[1]["rest"]
        assert (found["pods"], found["version"], found["environment"]) == (2, "v1", "torch1.9.0-py38-cu111")
        assert found["saved_lines"] >= 2 * STEPS
        assert found["groups"] == ["default"]

    def test_what_is_beyond_the_door_has_its_own_error(self, told: tuple[str, Any]) -> None:
        found = told[1]["rest"]
        code, message, has_id = found["beyond"]
        assert (code, has_id) == ("InvalidAction", True)
        assert "DescribeNotebooks" in message
        assert found["missing"][0] == "ResourceNotFound"
        assert "HDFS hdfs-1 /data" in found["hdfs"][1]
        assert found["wrong_secret"][0] == "AuthFailure.SignatureFailure"

    def test_our_objects_have_the_attributes_of_its(self, told: tuple[str, Any]) -> None:
        theirs = told[1]["fields"]
        found = {
            name: sorted(kind.FIELDS.split())
            for name, kind in vars(wire).items()
            if isinstance(kind, type) and issubclass(kind, AbstractModel) and name not in {*OURS, "AbstractModel"}
        }
        found["DescribePlatformImagesResponse"].remove("FrameworkTemplates")  # that of 2022, beside today's
        assert found == {name: theirs.get(name) for name in found}
