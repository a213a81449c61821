"""float32 against bf16: whole training steps of two shapes, and adaptive precision on a small real task.

    python benchmarks/precision.py --quick

The gates are for a CPU with AMX; the report names the instructions of this one. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "accel" / "src"))

import torch
from precision.digits import MISSING, has_digits
from precision.models import resnet50, transformer
from precision.task import train
from precision.timing import time_steps

from danlu_accel.precision import LossAware, LrAware, Policy, TimeWindow, choose_dtype


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="three rounds and five seeds: about three minutes")
    parser.add_argument("--threads", type=int, default=1, help="cores per step (default: 1)")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    low = choose_dtype("cpu")
    print(f"# {low.reason}", flush=True)
    figures: list[dict[str, Any]] = []
    if low.dtype is not None:
        figures += shapes(low.dtype, 5 if given.quick else 11, low.reason)
    figures += task(4 if given.quick else 10, 12)
    print(json.dumps({"bench": "precision", "figures": figures}))


def shapes(dtype: torch.dtype, rounds: int, reason: str) -> list[dict[str, Any]]:
    torch.manual_seed(0)
    last = torch.channels_last
    wanted = {
        "bf16_resnet50_112px": (resnet50().to(memory_format=last), image_batch(last), 1.5, 1.65),
        "bf16_transformer_384": (transformer(384, 4), torch.randn(16, 128, 384), 1.8, 2.1),
        "bf16_transformer_512": (transformer(512, 4), torch.randn(8, 256, 512), 1.8, 2.1),
        "bf16_transformer_768": (transformer(768, 4), torch.randn(8, 128, 768), 1.8, 2.1),
    }
    found = []
    for name, (model, batch, gate, goal) in wanted.items():
        steps = time_steps(model, batch, dtype, rounds)
        note = (
            f"{1000 * steps.full:.0f} ms -> {1000 * steps.ours:.0f} ms, {1000 * steps.autocast:.0f} ms with torch's "
            f"autocast alone; {reason}; share of epochs in bf16: 1"
        )
        found.append(figure(name, steps.ratio, gate, goal, note))
    return found


def image_batch(layout: torch.memory_format) -> torch.Tensor:
    return torch.randn(8, 3, 112, 112).to(memory_format=layout)


def task(seeds: int, epochs: int) -> list[dict[str, Any]]:
    """Points of accuracy that each policy loses against float32, averaged over seeds."""
    if not has_digits():
        return [figure("points_of_accuracy_lost", None, 0.3, 0.3, MISSING, is_upper=True)]
    never = [train(TimeWindow(start=epochs), seed, epochs) for seed in range(seeds)]
    baseline = statistics.mean(each.accuracy for each in never)
    found = []
    for name in ("time_window", "lr_aware", "loss_aware"):
        runs = [train(policy(name), seed, epochs) for seed in range(seeds)]
        lost = 100 * (baseline - statistics.mean(each.accuracy for each in runs))
        share = statistics.mean(each.share_low for each in runs)
        note = f"float32 {100 * baseline:.2f} %, share of epochs in bf16 {share:.2f}"
        found.append(figure(f"points_of_accuracy_lost_{name}", lost, 0.3, 0.3, note, is_upper=True))
    return found


def policy(name: str) -> Policy:
    policies: dict[str, Policy] = {
        "time_window": TimeWindow(start=2),
        "lr_aware": LrAware(start=2, hold=2),
        "loss_aware": LossAware(interval=2, hold=2),
    }
    return policies[name]


def figure(
    name: str, value: float | None, gate: float, goal: float, note: str, *, is_upper: bool = False
) -> dict[str, Any]:
    shown = "-" if value is None else f"{value:.3f}"
    print(f"{name:40s} {shown:>7s}   gate {gate:g} goal {goal:g}   {note}", flush=True)
    return {"name": name, "value": value, "gate": gate, "goal": goal, "note": note, "is_upper": is_upper}


if __name__ == "__main__":
    main()
