"""The figures the lab must show, with the least that counts (gate) and what we aim for (goal)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Figure:
    """One measured number. A `value` of None was not measured, and `note` says why."""

    name: str
    value: float | None
    gate: float
    goal: float
    limit: float | None
    is_upper: bool = False
    """Whether smaller is better."""
    note: str = ""

    def reaches(self, line: float) -> bool:
        if self.value is None:
            return False
        return self.value <= line if self.is_upper else self.value >= line

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "reaches_gate": self.reaches(self.gate), "reaches_goal": self.reaches(self.goal)}

    def as_line(self) -> str:
        value = "not measured" if self.value is None else f"{self.value:.3f}"
        verdict = "goal" if self.reaches(self.goal) else "gate" if self.reaches(self.gate) else "MISSED"
        limit = "-" if self.limit is None else f"{self.limit:g}"
        lines = f"gate {self.gate:<5g} goal {self.goal:<5g} limit {limit:6s}"
        return f"{self.name:34s} {value:>12s}   {lines} {verdict} {self.note}"


# name -> limit, gate, goal
EXCHANGE = {
    ("exact", 2): (1.50, 1.40, 1.47),
    ("exact", 4): (1.75, 1.58, 1.70),
    ("bf16", 2): (3.0, 2.3, 2.6),
    ("bf16", 4): (3.5, 2.5, 2.9),
    ("int8", 2): (5.95, 4.0, 4.6),
    ("int8", 4): (6.9, 4.3, 5.0),
}


AGAINST_FP16_HOOK = {
    ("bf16", 2): (1.50, 1.35, 1.45),
    ("bf16", 4): (1.75, 1.50, 1.65),
    ("int8", 2): (2.97, 2.0, 2.3),
    ("int8", 4): (3.45, 2.2, 2.5),
}
"""What a lossy wire gains beside torch's own hook, which is what else one would take. The gates are our own choice."""


def exchange_figures(ranks_per_host: int, measured: dict[str, Any]) -> list[Figure]:
    """Figures of one launch of `allreduce`: how many times faster than native, and the bytes on the link."""
    modes = measured["modes"]
    found = [
        Figure(f"link_bytes_exact_2x{ranks_per_host}", modes["exact"]["sent_ratio"], 1.03, 1.01, 1.00, is_upper=True)
    ]
    for mode in ("exact", "bf16", "int8"):
        limit, gate, goal = EXCHANGE[mode, ranks_per_host]
        speedup = modes["native"]["seconds"] / modes[mode]["seconds"]
        note = f"{1000 * modes['native']['seconds']:.0f} ms -> {1000 * modes[mode]['seconds']:.0f} ms"
        found.append(Figure(f"allreduce_{mode}_2x{ranks_per_host}", speedup, gate, goal, limit, note=note))
    for mode in ("bf16", "int8"):
        limit, gate, goal = AGAINST_FP16_HOOK[mode, ranks_per_host]
        gain = modes["fp16_hook"]["seconds"] / modes[mode]["seconds"]
        note = f"errors {modes['fp16_hook']['error']:.1e} and {modes[mode]['error']:.1e}"
        found.append(Figure(f"{mode}_vs_fp16_hook_2x{ranks_per_host}", gain, gate, goal, limit, note=note))
    return found


def round_robin_figure(measured: dict[str, Any] | None) -> Figure:
    if measured is None:
        return Figure("allreduce_exact_round_robin_2x2", None, 2.5, 2.8, 3.0, note="mpirun is not installed")
    modes = measured["modes"]
    return Figure(
        "allreduce_exact_round_robin_2x2", modes["native"]["seconds"] / modes["exact"]["seconds"], 2.5, 2.8, 3.0
    )


def step_figures(measured: dict[str, Any]) -> list[Figure]:
    seconds, note = measured["seconds"], f"native efficiency {measured['efficiency']:.3f}, batch {measured['batch']}"
    return [
        Figure("ddp_step_exact_2x4", seconds["native"] / seconds["exact"], 1.25, 1.37, 1.85, note=note),
        Figure("ddp_step_bf16_2x4", seconds["native"] / seconds["bf16"], 1.40, 1.55, 1.85, note=note),
        Figure("native_efficiency_2x4_minus_0.54", abs(measured["efficiency"] - 0.54), 0.03, 0.03, None, is_upper=True),
    ]


def accuracy_figure(measured: dict[str, Any] | None, note: str = "") -> Figure:
    if measured is None:
        return Figure("int8_points_of_accuracy_lost", None, 0.3, 0.3, None, is_upper=True, note=note)
    found = measured["accuracy"]
    lost = 100 * (found["exact"] - found["int8"])
    note = f"exact {100 * found['exact']:.2f} %, int8 {100 * found['int8']:.2f} %"
    return Figure("int8_points_of_accuracy_lost", lost, 0.3, 0.3, None, is_upper=True, note=note)
