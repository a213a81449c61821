"""Figures of the lab, with the required value (gate) and the intended one (goal)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Figure:
    """One measured number. If `value` is None it was not measured, and `note` says why.

    Without `gate` and `goal` it is for comparison only.
    """

    name: str
    value: float | None
    gate: float | None = None
    goal: float | None = None
    limit: float | None = None
    is_upper: bool = False
    """Whether smaller is better."""
    note: str = ""

    def reaches(self, line: float | None) -> bool:
        if line is None:
            return True
        if self.value is None:
            return False
        return self.value <= line if self.is_upper else self.value >= line

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "reaches_gate": self.reaches(self.gate), "reaches_goal": self.reaches(self.goal)}

    def as_line(self) -> str:
        value = "not measured" if self.value is None else f"{self.value:.3f}"
        verdict = "goal" if self.reaches(self.goal) else "gate" if self.reaches(self.gate) else "MISSED"
        if self.gate is None or self.goal is None:
            return f"{self.name:34s} {value:>12s}   for comparison {self.note}"
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


AGAINST_HOOKS = {
    ("bf16", "fp16_hook", 2): (1.50, 1.35, 1.45),
    ("bf16", "fp16_hook", 4): (1.75, 1.50, 1.65),
    ("bf16", "bf16_hook", 2): (1.50, 1.35, 1.45),
    ("bf16", "bf16_hook", 4): (1.75, 1.50, 1.65),
    ("int8", "fp16_hook", 2): (2.97, 2.0, 2.3),
    ("int8", "fp16_hook", 4): (3.45, 2.2, 2.5),
}
"""Gain of a lossy wire format over torch's own hooks, which are the alternative. The gates are our choice."""

MOST_LOST_POINTS = 0.3
"""Points of accuracy that a lossy exchange may lose."""


def exchange_figures(ranks_per_host: int, measured: dict[str, Any]) -> list[Figure]:
    """Return the figures of one launch of `allreduce`: speed-up over native, and bytes on the link."""
    modes = measured["modes"]
    found = [
        Figure(f"link_bytes_exact_2x{ranks_per_host}", modes["exact"]["sent_ratio"], 1.03, 1.01, 1.00, is_upper=True)
    ]
    for mode in ("exact", "bf16", "int8"):
        limit, gate, goal = EXCHANGE[mode, ranks_per_host]
        speedup = modes["native"]["seconds"] / modes[mode]["seconds"]
        note = f"{1000 * modes['native']['seconds']:.0f} ms -> {1000 * modes[mode]['seconds']:.0f} ms"
        found.append(Figure(f"allreduce_{mode}_2x{ranks_per_host}", speedup, gate, goal, limit, note=note))
    for (mode, hook, ranks), (limit, gate, goal) in AGAINST_HOOKS.items():
        if ranks == ranks_per_host:
            gain = modes[hook]["seconds"] / modes[mode]["seconds"]
            note = f"errors {modes[hook]['error']:.1e} and {modes[mode]['error']:.1e}"
            found.append(Figure(f"{mode}_vs_{hook}_2x{ranks_per_host}", gain, gate, goal, limit, note=note))
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


def lossy_figures(seconds: dict[str, float], accuracy: dict[str, float] | None, missing: str = "") -> list[Figure]:
    """Return the figures of steps dominated by the exchange, and the accuracy that each loses on a small task."""
    lost = {} if accuracy is None else {name: 100 * (accuracy["exact"] - found) for name, found in accuracy.items()}
    found = [_lost_figure("int8", accuracy, lost, missing)]
    for mode, taken in seconds.items():
        if mode in ("compute", "native"):
            continue
        note = f"{lost[mode]:.2f} points of accuracy lost" if mode in lost else ""
        found.append(Figure(f"lossy_step_{mode}_2x2", seconds["native"] / taken, note=note))
    allowed = [name for name in seconds if name.startswith("powersgd") and lost.get(name, 100) <= MOST_LOST_POINTS]
    if not allowed:
        return [*found, Figure("int8_vs_powersgd_2x2", None, note="no PowerSGD kept the accuracy, or it is unknown")]
    best = min(allowed, key=seconds.__getitem__)
    return [*found, Figure("int8_vs_powersgd_2x2", seconds[best] / seconds["int8"], note=f"beside {best}")]


def _lost_figure(wire: str, accuracy: dict[str, float] | None, lost: dict[str, float], missing: str) -> Figure:
    name = f"{wire}_points_of_accuracy_lost"
    if accuracy is None:
        return Figure(name, None, MOST_LOST_POINTS, MOST_LOST_POINTS, is_upper=True, note=missing)
    note = f"exact {100 * accuracy['exact']:.2f} %, {wire} {100 * accuracy[wire]:.2f} %"
    return Figure(name, lost[wire], MOST_LOST_POINTS, MOST_LOST_POINTS, is_upper=True, note=note)
