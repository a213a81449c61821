"""ColossalAI's own launcher on two nodes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from danlu.client import Client
from danlu.spec.states import JobState

pytestmark = pytest.mark.long
ROOT = Path(__file__).parents[2]
SCRIPT = """
import os, torch, torch.distributed as dist
dist.init_process_group("gloo")
total = torch.ones(1)
dist.all_reduce(total)
print("rank", dist.get_rank(), "local", os.environ["LOCAL_RANK"], "sum", int(total), flush=True)
"""


def colossalai() -> Path:
    """The package without what it needs for training: the launcher has that from the tests' own environment."""
    folder = ROOT / ".bench" / "colossalai"
    if not (folder / "colossalai").is_dir():
        pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(folder)]
        subprocess.run([*pip, "colossalai", "click"], check=True)
    return folder


def test_it_starts_a_process_for_each_slot(client: Client, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    job = client.jobs.submit(
        name="colossalai",
        launch="colossalai",
        nodes=2,
        resources={"device": "cpu:2"},
        env={"PYTHONPATH": str(colossalai()), "OMP_NUM_THREADS": "1"},
        code={"path": str(tmp_path)},
        command="python3 -m colossalai.cli.cli run --hostfile /t9k/hostfile --nproc_per_node 2 train.py",
    )
    assert job.wait().state is JobState.SUCCEEDED, "\n".join(line.text for line in job.logs())
    lines = [line.text.strip() for line in job.logs()]
    assert sorted(line for line in lines if line.startswith("rank ")) == [
        f"rank {rank} local {rank % 2} sum 4" for rank in range(4)
    ]
