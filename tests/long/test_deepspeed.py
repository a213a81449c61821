"""DeepSpeed's own launcher on two nodes."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.venvs import venv_with

from danlu.client import Client
from danlu.spec.states import JobState

pytestmark = pytest.mark.long
SCRIPT = """
import os, torch, torch.distributed as dist
dist.init_process_group("gloo")
total = torch.ones(1)
dist.all_reduce(total)
print("rank", dist.get_rank(), "local", os.environ["LOCAL_RANK"], "sum", int(total), flush=True)
"""


def test_it_starts_a_process_for_each_slot(client: Client, tmp_path: Path) -> None:
    python = venv_with("deepspeed", "torch", "numpy", "setuptools", "deepspeed")
    (tmp_path / "train.py").write_text(SCRIPT)
    job = client.jobs.submit(
        name="deepspeed",
        launch="deepspeed",
        nodes=2,
        resources={"device": "cpu:2"},
        env={"DS_ACCELERATOR": "cpu"},
        code={"path": str(tmp_path)},
        command=f"{python.parent}/deepspeed train.py",
    )
    assert job.wait().state is JobState.SUCCEEDED, "\n".join(line.text for line in job.logs())
    lines = [line.text.strip().partition(": ")[2] for line in job.logs()]
    assert sorted(line for line in lines if line.startswith("rank ")) == [
        f"rank {rank} local {rank % 2} sum 4" for rank in range(4)
    ]
