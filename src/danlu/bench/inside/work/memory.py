"""Memory bandwidth: one process copies blocks that are larger than the caches."""

from __future__ import annotations

from typing import Any

from danlu.bench.inside.measured import Measured, rate, rates, time_steps
from danlu.bench.inside.place import Place


def work(place: Place, parameters: dict[str, Any]) -> Measured:
    del place  # every rank copies for itself
    num_bytes = int(parameters["megabytes"]) << 20
    source, target = bytearray(b"\x5a") * num_bytes, bytearray(num_bytes)
    view, copy = memoryview(source), memoryview(target)

    def step() -> None:
        copy[:] = view

    seconds = time_steps(step, steps=int(parameters["steps"]), warmup=int(parameters["warmup"]))
    moved = 2 * num_bytes / 1e9  # read and written
    return Measured({"bandwidth": rate(seconds, moved)}, {"bandwidth": rates(seconds, moved)})
