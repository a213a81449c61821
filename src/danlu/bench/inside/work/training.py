"""Training loop of both models: data-parallel steps, timed after the warm-up, and accuracy on unseen data."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Callable

from danlu.bench.inside.measured import Measured, first_reached, rate, rates
from danlu.bench.inside.place import Place
from danlu.bench.inside.work.devices import device_of, group_of, wait_for

if TYPE_CHECKING:
    import torch

Draw = Callable[["torch.Generator", int], "tuple[torch.Tensor, torch.Tensor]"]
"""Returns a batch of inputs and of their classes."""

SEED = 7
EVALUATED = 256


def train(model: torch.nn.Module, draw: Draw, *, place: Place, parameters: dict[str, Any]) -> Measured:
    """`throughput` in samples per second of this rank, `accuracy`, and `time_to_accuracy` when it was reached."""
    device = device_of(place)
    with group_of(place, device, timeout_seconds=float(parameters["timeout_seconds"])):
        return _train(model, draw, place, parameters, device=device)


def _train(
    model: torch.nn.Module, draw: Draw, place: Place, parameters: dict[str, Any], *, device: torch.device
) -> Measured:
    import torch
    from torch.nn.parallel import DistributedDataParallel

    steps, warmup, batch = (int(parameters[name]) for name in ("steps", "warmup", "batch_size"))
    ddp = DistributedDataParallel(model.to(device))
    optimizer = torch.optim.AdamW(ddp.parameters(), lr=float(parameters["lr"]))
    own = torch.Generator().manual_seed(SEED + 1 + place.group_rank)
    every = max(1, steps // 5)
    seconds: list[float] = []
    course: list[tuple[float, float]] = []
    trained = 0.0
    for number in range(warmup + steps):
        inputs, classes = (one.to(device) for one in draw(own, batch))
        began = time.perf_counter()
        loss = torch.nn.functional.cross_entropy(ddp(inputs), classes)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        wait_for(device)
        took = time.perf_counter() - began
        trained += took
        if number >= warmup:
            seconds.append(took)
            if len(seconds) % every == 0 or len(seconds) == steps:
                course.append((trained, _accuracy(model, draw, device)))
    measured = Measured({"throughput": rate(seconds, batch)}, {"throughput": rates(seconds, batch)})
    if place.group_rank == 0:
        measured.metrics["accuracy"] = course[-1][1]
        measured.curves["accuracy"] = [list(point) for point in course]
        reached = first_reached(course, float(parameters.get("target_accuracy", 1.0)))
        if reached is not None:
            measured.metrics["time_to_accuracy"] = reached
    return measured


def _accuracy(model: torch.nn.Module, draw: Draw, device: torch.device) -> float:
    import torch

    inputs, classes = (one.to(device) for one in draw(torch.Generator().manual_seed(SEED), EVALUATED))
    model.eval()
    with torch.no_grad():
        right = (model(inputs).argmax(dim=1) == classes).float().mean().item()
    model.train()
    return float(right)
