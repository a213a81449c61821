"""What ranks do in tests. Runs inside each rank: see conftest.run_ranks."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import traceback
import warnings
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel as DDP  # noqa: N817

from danlu_accel import comm

ENVIRONMENT: dict[str, str] = globals().get("ENVIRONMENT", {})
REQUEST: dict[str, Any] = globals().get("REQUEST", {})


class Net(nn.Module):
    """Odd sizes on purpose: nothing divides by the number of ranks."""

    def __init__(self, unused: bool = False) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(13, 67), nn.Tanh(), nn.Linear(67, 41), nn.Tanh(), nn.Linear(41, 3))
        self.sometimes = nn.Linear(13, 3) if unused else None

    def forward(self, x: Tensor, use_all: bool = True) -> Tensor:
        y: Tensor = self.layers(x)
        if self.sometimes is not None and use_all:
            y = y + self.sometimes(x)
        return y


def host_options(**more: Any) -> comm.Options:
    return comm.Options(host_key=os.environ["TEST_HOST_KEY"], **more)


def batch(step: int, rank: int) -> Tensor:
    return torch.randn(5, 13, generator=torch.Generator().manual_seed(1000 * step + rank))


def fingerprint(model: nn.Module) -> str:
    digest = hashlib.sha256()
    for parameter in model.parameters():
        digest.update(parameter.detach().numpy().tobytes())
    return digest.hexdigest()


def train(
    ddp: nn.Module, *, steps: int = 4, micro: int = 1, use_all: Callable[[int, int], bool] = lambda *_: True
) -> Tensor:
    """Train and return all parameters as one vector."""
    rank = dist.get_rank()
    optimizer = torch.optim.SGD(ddp.parameters(), lr=0.05, momentum=0.9)
    for step in range(steps):
        optimizer.zero_grad()
        for part in range(micro):
            quiet = ddp.no_sync() if part < micro - 1 else contextlib.nullcontext()
            with quiet:
                args = (use_all(step, rank),) if isinstance(ddp.module, Net) else ()
                ddp(batch(step * micro + part, rank), *args).square().mean().backward()
        optimizer.step()
    return nn.utils.parameters_to_vector(ddp.parameters()).detach()


def against_native(
    build: Callable[[], nn.Module],
    ddp_kwargs: dict[str, Any],
    train_kwargs: dict[str, Any],
    attach_kwargs: dict[str, Any],
) -> dict[str, Any]:
    """Train twice from the same start, with plain DDP and with ours, and compare."""
    results = []
    attachment = None
    for ours in (False, True):
        torch.manual_seed(0)
        ddp = DDP(build(), **ddp_kwargs)
        if ours:
            attachment = comm.attach(ddp, options=host_options(piece_bytes=4096), **attach_kwargs)
        results.append(train(ddp, **train_kwargs))
        prints = [None] * dist.get_world_size()
        dist.all_gather_object(prints, fingerprint(ddp))
    native, own = results
    assert attachment is not None
    answer = {
        "difference": float(((native - own).abs() / native.abs().clamp_min(1e-3)).max()),
        "bit_equal": len(set(prints)) == 1,
        "explain": attachment.explain(),
        "algorithms": sorted({each.algorithm for each in attachment.stats()}),
        "steps": len(attachment.stats()),
    }
    attachment.close()
    return answer


SMALL = {"bucket_cap_mb": 0.01}  # several buckets even for a small model


def sometimes(step: int, rank: int) -> bool:
    return (step + rank) % 2 == 0


VARIANTS: dict[str, tuple[Callable[[], nn.Module], dict[str, Any], dict[str, Any]]] = {
    "plain": (Net, {}, {}),
    "many_buckets": (Net, SMALL, {}),
    "bucket_view": (Net, {**SMALL, "gradient_as_bucket_view": True}, {}),
    "no_sync": (Net, SMALL, {"micro": 3}),
    "static_graph": (Net, {**SMALL, "static_graph": True}, {}),
    "find_unused": (
        lambda: Net(unused=True),
        {**SMALL, "find_unused_parameters": True, "gradient_as_bucket_view": True},
        {"use_all": sometimes},
    ),
    "compiled": (lambda: torch.compile(Net().layers, backend="aot_eager"), {}, {}),
}


def exactness(algorithms: list[str], variants: list[str], wire: str = "exact") -> dict[str, Any]:
    return {
        f"{algorithm}/{variant}": against_native(*VARIANTS[variant], {"algorithm": algorithm, "wire": wire})
        for algorithm in algorithms
        for variant in variants
    }


def main() -> None:
    os.environ.update(ENVIRONMENT)
    torch.set_num_threads(1)
    warnings.simplefilter("error")
    dist.init_process_group("gloo", timeout=timedelta(seconds=60))
    try:
        answer = globals()[REQUEST["case"]](**REQUEST["arguments"])
    except Exception as error:  # the test decides what it means
        answer = {"error": type(error).__name__, "message": str(error), "traceback": traceback.format_exc()}
    Path(REQUEST["answer"]).write_text(json.dumps(answer))
    os._exit(0)  # a rank whose peers were killed would wait for them at exit


if REQUEST:
    main()
