"""Two jobs at once with the same hard-coded port, as the launch line of TI-ONE's guide has it."""

from __future__ import annotations

from pathlib import Path

import pytest

from danlu.client import Client
from danlu.spec.states import JobState

EXAMPLE = Path(__file__).parents[2] / "examples" / "ddp_images" / "code"
TRAIN = """
import os, torch.distributed as dist, torch
dist.init_process_group("gloo")
total = torch.ones(1); dist.all_reduce(total)
print(f"sum {int(total)} of {dist.get_world_size()}", flush=True)
dist.destroy_process_group()
"""


def test_two_gangs_share_a_port_number(client: Client, tmp_path: Path) -> None:
    if not next(iter(client.nodes())).has_own_network:
        pytest.skip("attempts have no network of their own on this machine (and `danlu nodes` says so)")
    (tmp_path / "start_cloud.sh").write_text((EXAMPLE / "start_cloud.sh").read_text())
    (tmp_path / "train.py").write_text(TRAIN)
    jobs = [
        client.jobs.submit(
            name=f"gang-{k}", command="sh start_cloud.sh", nodes=2, launch="ddp", code={"path": str(tmp_path)}
        )
        for k in range(2)
    ]
    for job in jobs:
        assert job.wait().state is JobState.SUCCEEDED, list(job.logs())
        said = [line.text.strip() for line in job.logs() if line.text.startswith("sum")]
        assert said == ["sum 2 of 2", "sum 2 of 2"]
