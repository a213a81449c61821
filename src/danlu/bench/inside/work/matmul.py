"""Matrix products: peak compute throughput of a device."""

from __future__ import annotations

from typing import Any

from danlu.bench.inside.measured import Measured, rate, rates, time_steps
from danlu.bench.inside.place import Place
from danlu.bench.inside.work.devices import device_of, wait_for


def work(place: Place, parameters: dict[str, Any]) -> Measured:
    import torch

    size, device = int(parameters["size"]), device_of(place)
    kind = getattr(torch, str(parameters.get("dtype", "float32")))
    left, right = (torch.rand(size, size, dtype=kind, device=device) for _ in range(2))

    def step() -> None:
        torch.mm(left, right)
        wait_for(device)

    seconds = time_steps(step, steps=int(parameters["steps"]), warmup=int(parameters["warmup"]))
    work_done = 2 * size**3 / 1e9
    return Measured({"gflops": rate(seconds, work_done)}, {"gflops": rates(seconds, work_done)})
