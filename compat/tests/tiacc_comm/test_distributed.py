"""Scripts written for TI-ACC run unchanged."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch.nn.parallel import DistributedDataParallel

import tiacc_training.torch.distributed as tdist
from danlu.testing.ports import free_port
from tiacc_training.torch.distributed.settings import OldSettings, read_settings

REPO = Path(__file__).parents[3]
SCRIPT = Path(__file__).with_name("unchanged_script.py")
SEED_VARIABLES = {
    "LIGHT_2D_ALLREDUCE": "1",
    "TIACC_TRAINING_FUSION_THRESHOLD": "25217728",
    "TIACC_TRAINING_NUM_NCCL_STREAMS": "3",
}


def surroundings():
    paths = [str(REPO / "accel" / "src"), str(REPO / "compat" / "src"), os.environ.get("PYTHONPATH", "")]
    return {
        **os.environ,
        **SEED_VARIABLES,
        "PYTHONPATH": os.pathsep.join(paths),
        "OMP_NUM_THREADS": "1",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()),
    }


@pytest.fixture
def environment():
    return surroundings()


def expected_weights():
    torch.manual_seed(0)
    model = torch.nn.Linear(6, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(11):
        optimizer.zero_grad()
        losses = [model(torch.full((2, 6), float(rank + step))).square().mean() for rank in range(2)]
        (sum(losses) / 2).backward()
        optimizer.step()
    return model.weight.detach().flatten()


def check(folder):
    for rank in range(2):
        answer = json.loads((folder / f"answer.{rank}").read_text())
        assert torch.allclose(torch.tensor(answer["weights"]), expected_weights(), atol=1e-6)
        assert answer["hook"] == "danlu_accel.comm.hook"
        assert "candidates: 2d, flat" in answer["explain"]  # one host: leader would be 2d
        assert answer["algorithms"] == ["2d", *["2d"] * 4, *["flat"] * 4, answer["decided"], answer["decided"]]
        assert f"algorithm: {answer['decided']}, decided by rank 0 after measuring" in answer["explain"]
        assert answer["streams"] == 3
        assert answer["sums"] == [2 * 300_007 + 1.0, 7.0, 7.0, 4.0, 2**41 + 1, 1.0]
        assert answer["sum_by"] == "danlu_accel.comm.all_reduce"
        assert answer["bucket_bytes"] == 25217728


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="OpenMPI is not installed")
def test_seeds_mpirun_line_trains_like_plain_ddp(environment, tmp_path):
    words = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "2", "-H", "localhost:2", "-map-by", "slot"]
    for name in ("MASTER_ADDR", "MASTER_PORT"):  # the old line does not give them
        del environment[name]
    for name in (*SEED_VARIABLES, "PYTHONPATH", "OMP_NUM_THREADS"):
        words += ["-x", name]
    words += [sys.executable, str(SCRIPT), str(tmp_path / "answer")]
    done = subprocess.run(words, env=environment, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    check(tmp_path)


def test_old_launch_module_is_torchrun(environment, tmp_path):
    words = [sys.executable, "-m", "tiacc_training.torch.distributed.launch", "--nproc-per-node=2"]
    words += ["--master-port", environment["MASTER_PORT"], str(SCRIPT), str(tmp_path / "answer")]
    done = subprocess.run(words, env=environment, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    check(tmp_path)


@pytest.fixture(scope="module")
def sums(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sums")
    words = [sys.executable, "-m", "tiacc_training.torch.distributed.launch", "--nproc-per-node=2", "--standalone"]
    words += ["--local-addr=127.0.0.1", str(SCRIPT.with_name("sums_script.py")), str(folder / "answer")]
    done = subprocess.run(words, env=surroundings(), check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [json.loads((folder / f"answer.{rank}").read_text()) for rank in range(2)]


OURS = ["sum", "average", "double", "bf16", "two dimensions, turned", "parameter", "default group by name"]
NOT_OURS = ["small", "whole numbers", "maximum", "complex", "another group", "subclass"]


class TestAllReduce:
    @pytest.mark.parametrize("name", OURS)
    def test_large_sums_and_averages_are_ours_and_equal_to_torchs(self, sums, name):
        assert [answer[name] for answer in sums] == [{"is_ours": True, "is_equal": True}] * 2

    @pytest.mark.parametrize("name", NOT_OURS)
    def test_everything_else_is_torchs_own(self, sums, name):
        assert [answer[name] for answer in sums] == [{"is_ours": False, "is_equal": True}] * 2

    @pytest.mark.parametrize("name", ["future", "compiled", "undone"])
    def test_scripts_use_it_as_they_did(self, sums, name):
        assert [answer[name] for answer in sums] == [True, True]


class TestInit:
    def test_can_be_undone_and_repeated(self, monkeypatch):
        monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "0")
        monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "1")
        monkeypatch.delenv("RANK", raising=False)
        before = (
            DistributedDataParallel.__init__,
            DistributedDataParallel.register_comm_hook,
            torch.distributed.all_reduce,
        )
        tdist.init_tiacc_training()
        tdist.init_tiacc_training()
        assert os.environ["RANK"] == "0"
        assert DistributedDataParallel.__init__ is not before[0]
        tdist.shutdown_tiacc_training()
        tdist.shutdown_tiacc_training()
        after = (
            DistributedDataParallel.__init__,
            DistributedDataParallel.register_comm_hook,
            torch.distributed.all_reduce,
        )
        assert after == before
        assert "RANK" not in os.environ


class TestReadSettings:
    def test_nothing_set_means_measured(self):
        assert read_settings({}) == OldSettings("auto", None, 1, None)

    def test_seeds_line(self):
        found = read_settings({**SEED_VARIABLES, "LIGHT_INTRA_SIZE": "8"})
        assert found == OldSettings("auto", 25217728 / 2**20, 3, 8)

    @pytest.mark.parametrize(("value", "algorithm"), [("0", "flat"), ("1", "auto"), ("force", "2d")])
    def test_the_2d_exchange_is_measured_unless_it_is_forced(self, value, algorithm):
        assert read_settings({"LIGHT_2D_ALLREDUCE": value}).algorithm == algorithm

    def test_topk_is_taken_on_request(self):
        assert read_settings({"LIGHT_TOPK_ALLREDUCE": "1", "LIGHT_TOPK_RATIO": "0.01"}).wire == "topk"
        with pytest.raises(ValueError, match=r"LIGHT_TOPK_RATIO: expected 0.01, .* got '0.5'"):
            read_settings({"LIGHT_TOPK_ALLREDUCE": "1", "LIGHT_TOPK_RATIO": "0.5"})
        with pytest.raises(ValueError, match="always exact"):
            read_settings({"LIGHT_TOPK_ALLREDUCE": "1", "LIGHT_2D_ALLREDUCE": "0"})

    @pytest.mark.parametrize(
        "name", ["LIGHT_2D_ALLREDUCE", "LIGHT_TOPK_ALLREDUCE", "TIACC_TRAINING_FUSION_THRESHOLD", "LIGHT_INTRA_SIZE"]
    )
    def test_nonsense_is_named(self, name):
        with pytest.raises(ValueError, match=f"{name}.*'many'"):
            read_settings({name: "many"})
