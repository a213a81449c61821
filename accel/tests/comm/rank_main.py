"""What runs in each rank of a test: join the others, run one case, write down its answer. See conftest.run_ranks."""

from __future__ import annotations

import json
import os
import sys
import traceback
import warnings
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from danlu.testing.waiting import HANG_SECONDS

ENVIRONMENT: dict[str, str] = globals().get("ENVIRONMENT", {})
REQUEST: dict[str, Any] = globals().get("REQUEST", {})

LOSE_A_RANK = ("lost_rank", "begins_again", "replicas_lost_rank")


def main() -> None:
    sys.path.insert(0, str(Path(__file__).parent))
    import cases
    import failure_cases
    import nccl_cases
    import replica_cases

    os.environ.update(ENVIRONMENT)
    torch.set_num_threads(1)
    warnings.filterwarnings("error", module=r"danlu_accel")
    dist.init_process_group("gloo", timeout=timedelta(seconds=HANG_SECONDS))
    case = next(
        found
        for file in (failure_cases, nccl_cases, replica_cases, cases)
        if (found := getattr(file, REQUEST["case"], None))
    )
    try:
        answer = case(**REQUEST["arguments"])
        if case.__name__ not in LOSE_A_RANK:
            dist.barrier()  # rank 0 keeps the store that the others still need
    except Exception as error:  # the test decides what it means
        answer = {"error": type(error).__name__, "message": str(error), "traceback": traceback.format_exc()}
    Path(REQUEST["answer"]).write_text(json.dumps(answer))
    os._exit(0)  # a rank whose peers were killed would wait for them at exit


if REQUEST:
    main()
