"""All-reduce over all ranks, by size: bus bandwidth and latency of their network."""

from __future__ import annotations

from typing import Any

from danlu.bench.inside.measured import Measured, median, rate, rates, time_steps
from danlu.bench.inside.place import Place
from danlu.bench.inside.work.devices import device_of, group_of, wait_for


def work(place: Place, parameters: dict[str, Any]) -> Measured:
    import torch
    import torch.distributed as dist

    device = device_of(place)
    share = 2 * (place.group_size - 1) / max(place.group_size, 1)
    """Share of the bytes that each rank sends. With it, the bandwidth does not depend on the number of ranks."""

    measured = Measured(curves={"bandwidth": [], "latency": []})
    with group_of(place, device, timeout_seconds=float(parameters["timeout_seconds"])):
        for num_bytes in map(int, parameters["sizes"]):
            values = torch.ones(max(1, num_bytes // 4), dtype=torch.float32, device=device)

            def step(values: torch.Tensor = values) -> None:
                dist.all_reduce(values)
                wait_for(device)
                values.fill_(1.0)

            seconds = time_steps(step, steps=int(parameters["steps"]), warmup=int(parameters["warmup"]))
            moved = share * num_bytes / 1e6
            measured.curves["bandwidth"].append([num_bytes, rate(seconds, moved)])
            measured.curves["latency"].append([num_bytes, median(seconds) * 1e6])
            measured.metrics["bandwidth"] = rate(seconds, moved)  # of the largest size, which comes last
            measured.samples["bandwidth"] = rates(seconds, moved)
    measured.metrics["latency"] = measured.curves["latency"][0][1]
    return measured
