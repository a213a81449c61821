"""One rank of the lab. Started by torchrun or mpirun with a request; rank 0 writes the results."""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from together.measure import measure_together
from torch.futures import Future

from comm_lab.accuracy import measure_accuracy
from comm_lab.steps import measure_lossy_steps, measure_steps
from comm_lab.torch_hooks import by_torch
from danlu_accel import comm
from danlu_accel.comm.attachment import Attachment, ThreadEngine
from danlu_accel.comm.opening import open_attachment
from danlu_accel.comm.pieces import Bucket
from danlu_accel.comm.settings import Settings

NUM_BUCKETS = 4


def main() -> None:
    request = json.loads(sys.argv[1])
    torch.set_num_threads(1)
    os.environ.update(comm.rendezvous_variables(os.environ))
    os.environ.setdefault("GLOO_SOCKET_IFNAME", link())
    dist.init_process_group("gloo", timeout=timedelta(seconds=120))
    measured = MEASUREMENTS[request["what"]](**request["arguments"])
    if dist.get_rank() == 0:
        Path(sys.argv[2]).write_text(json.dumps(measured))
    dist.barrier()
    dist.destroy_process_group()


def measure_allreduce(modes: dict[str, Any], num_bytes: int, rounds: int) -> dict[str, Any]:
    """Average `num_bytes` of gradients, alternating between modes; return medians and the bytes on the link."""
    gradients = torch.randn(num_bytes // 4, generator=torch.Generator().manual_seed(dist.get_rank()))
    expected = gradients.clone()
    dist.all_reduce(expected)
    expected.div_(dist.get_world_size())
    runs: dict[str, Callable[[torch.Tensor], None]] = {}
    explained: dict[str, str] = {}
    for name, settings in modes.items():
        if settings is None:
            runs[name] = native
            continue
        if isinstance(settings, str):
            runs[name] = by_torch(settings, NUM_BUCKETS)
            continue
        attachment = open_attachment(build_settings(settings), list(range(dist.get_world_size())))
        explained[name] = attachment.explain()
        runs[name] = ours(attachment)
    samples: dict[str, list[dict[str, float]]] = {name: [] for name in modes}
    for round_index in range(rounds + 1):
        for name, run in runs.items():
            sample = measure(run, gradients.clone(), expected)
            if round_index:  # the first round opens connections
                samples[name].append(sample)
    return {"modes": {name: summary(found, num_bytes) for name, found in samples.items()}, "explained": explained}


def measure(run: Callable[[torch.Tensor], None], gradients: torch.Tensor, expected: torch.Tensor) -> dict[str, float]:
    dist.barrier()
    sent = sent_bytes()
    started = time.perf_counter()
    run(gradients)
    seconds = time.perf_counter() - started
    slowest = torch.tensor([seconds])
    dist.all_reduce(slowest, dist.ReduceOp.MAX)
    time.sleep(0.05)  # also count what is still in the link's queue
    error = float((gradients - expected).abs().max() / expected.abs().max())
    return {"seconds": float(slowest), "sent": sent_bytes() - sent, "error": error}


def native(gradients: torch.Tensor) -> None:
    """Like DDP without a hook: divide, then one all-reduce per bucket."""
    works = []
    for bucket in gradients.chunk(NUM_BUCKETS):
        bucket.div_(dist.get_world_size())
        works.append(dist.all_reduce(bucket, async_op=True))
    for work in works:
        assert work is not None
        work.wait()


def ours(attachment: Attachment) -> Callable[[torch.Tensor], None]:
    engine = attachment.engine
    assert isinstance(engine, ThreadEngine)

    def run(gradients: torch.Tensor) -> None:
        promises: list[Future[torch.Tensor]] = []
        for index, buffer in enumerate(gradients.chunk(NUM_BUCKETS)):
            promises.append(Future())
            engine.pipeline.put(Bucket(index, buffer, index == NUM_BUCKETS - 1, promises[-1]))
        for promise in promises:
            promise.wait()
        engine.pipeline.raise_error()

    return run


def build_settings(given: dict[str, Any]) -> Settings:
    plain = {name: value for name, value in given.items() if name != "options"}
    return Settings(**plain, options=comm.Options(**given.get("options", {})))


def summary(samples: list[dict[str, float]], num_bytes: int) -> dict[str, float]:
    return {
        "seconds": statistics.median(each["seconds"] for each in samples),
        "best": min(each["seconds"] for each in samples),
        "sent_ratio": statistics.median(each["sent"] for each in samples) / num_bytes,
        "error": max(each["error"] for each in samples),
    }


def link() -> str:
    """Return the name of this host's end of the link."""
    return next(name for name in os.listdir("/sys/class/net") if name.startswith("dl"))


def sent_bytes() -> int:
    return int(Path(f"/sys/class/net/{link()}/statistics/tx_bytes").read_text())


MEASUREMENTS: dict[str, Callable[..., dict[str, Any]]] = {
    "allreduce": measure_allreduce,
    "steps": measure_steps,
    "lossy_steps": measure_lossy_steps,
    "accuracy": measure_accuracy,
    "together": measure_together,
}

if __name__ == "__main__":
    main()
