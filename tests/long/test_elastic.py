"""torchrun's elastic mode inside a job: a process that fails is started again, on both nodes."""

from __future__ import annotations

from pathlib import Path

import pytest

from danlu.client import Client
from danlu.spec.states import JobState

pytestmark = pytest.mark.long
SCRIPT = """
import os, sys, torch, torch.distributed as dist
dist.init_process_group("gloo")
total = torch.ones(1)
dist.all_reduce(total)
if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0" and dist.get_rank() == 1:
    sys.exit(3)
dist.barrier()
print("rank", dist.get_rank(), "of", int(total), "restart", os.environ["TORCHELASTIC_RESTART_COUNT"], flush=True)
"""


def test_a_process_that_fails_is_started_again(client: Client, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    job = client.jobs.submit(
        name="elastic",
        launch="ddp",
        nodes=2,
        env={"OMP_NUM_THREADS": "1"},
        code={"path": str(tmp_path)},
        command="torchrun --nnodes=1:$NODE_NUM --max-restarts=2 --rdzv-backend=c10d --rdzv-id=$DANLU_JOB_ID "
        "--rdzv-endpoint=$MASTER_ADDR:$MASTER_PORT train.py",
    )
    lines = [line.text.strip() for line in job.logs(follow=True)]
    assert job.wait().state is JobState.SUCCEEDED, "\n".join(lines)
    found = sorted(line for line in lines if line.startswith("rank "))
    assert found[-1].startswith("rank 1 of 2 restart "), lines
