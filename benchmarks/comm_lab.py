"""Gradient exchange between two hosts with a slow link: plain DDP against ours, with real ranks.

    python benchmarks/comm_lab.py --quick

Lossy exchanges are also compared with torch's own hooks: half width (fp16, bf16) and PowerSGD.

Creates two network namespaces joined by one rate-limited link (needs root), starts ranks in them with torchrun and
mpirun, alternates between all modes inside one launch, and reports medians and the link's own byte counters. Removes
namespaces and ranks at the end, also when interrupted. The last line is JSON.
"""

from __future__ import annotations

import argparse
import functools
import json
from pathlib import Path
from typing import Any

from comm_lab.figures import Figure, exchange_figures, lossy_figures, round_robin_figure, step_figures
from comm_lab.launch import has_mpirun, mpirun, torchrun
from comm_lab.network import Host, lab, require_root
from comm_lab.picture import draw
from precision.digits import MISSING, has_digits

MIB = 1 << 20
EXACT = {"algorithm": "2d"}
MODES: dict[str, Any] = {
    "native": None,
    "fp16_hook": "fp16_hook",
    "bf16_hook": "bf16_hook",
    "exact": EXACT,
    "bf16": {**EXACT, "wire": "bf16"},
    "int8": {**EXACT, "wire": "int8"},
}
LOSSY_MODES = {**MODES, "topk": {**EXACT, "wire": "topk"}, **{name: name for name in ("powersgd_1", "powersgd_4")}}
Hosts = tuple[Host, Host]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="three rounds each, a few minutes in all")
    parser.add_argument("--rate", default="200mbit", help="of the link in each direction (default: 200mbit)")
    parser.add_argument("--only", choices=PARTS, action="append", help="run this part only; may be given several times")
    parser.add_argument("--picture", type=Path, help="write where a step's time goes to this SVG file")
    given = parser.parse_args()
    require_root()
    rounds = 3 if given.quick else 9
    figures: list[Figure] = []
    with lab(given.rate) as hosts:
        for name in given.only or PARTS:
            print(f"# {name}", flush=True)
            for figure in PARTS[name](hosts, rounds):
                figures.append(figure)
                print(figure.as_line(), flush=True)
        if given.picture is not None:
            given.picture.write_text(draw(measure_steps(hosts, rounds)))
    print(json.dumps({"bench": "comm_lab", "figures": [figure.as_json() for figure in figures]}))


def two_by_two(hosts: Hosts, rounds: int) -> list[Figure]:
    return exchange_figures(2, torchrun(hosts, 2, _exchange(MODES, 32 * MIB, rounds), 300))


def two_by_four(hosts: Hosts, rounds: int) -> list[Figure]:
    return exchange_figures(4, torchrun(hosts, 4, _exchange(MODES, 16 * MIB, rounds), 300))


def round_robin(hosts: Hosts, rounds: int) -> list[Figure]:
    if not has_mpirun():
        return [round_robin_figure(None)]
    modes = {name: MODES[name] for name in ("native", "exact")}
    return [round_robin_figure(mpirun(hosts, 2, _exchange(modes, 16 * MIB, rounds), 300))]


def steps(hosts: Hosts, rounds: int) -> list[Figure]:
    return step_figures(measure_steps(hosts, rounds))


@functools.cache
def measure_steps(hosts: Hosts, rounds: int) -> dict[str, Any]:
    modes = {name: MODES[name] for name in ("exact", "bf16")}
    request = {"what": "steps", "arguments": {"modes": modes, "rounds": max(5, rounds), "efficiency": 116 / 215}}
    return torchrun(hosts, 4, request, 300)


def lossy(hosts: Hosts, rounds: int) -> list[Figure]:
    request = {"what": "lossy_steps", "arguments": {"modes": LOSSY_MODES, "rounds": max(5, rounds)}}
    seconds = torchrun(hosts, 2, request, 300)["seconds"]
    if not has_digits():
        return lossy_figures(seconds, None, MISSING)
    wires = ["exact", "int8", "topk", "powersgd_1", "powersgd_4"]
    seeds = 3 if rounds < 9 else 10
    request = {"what": "accuracy", "arguments": {"wires": wires, "seeds": seeds, "epochs": 15}}
    return lossy_figures(seconds, torchrun(hosts, 2, request, 300)["accuracy"])


def _exchange(modes: dict[str, Any], num_bytes: int, rounds: int) -> dict[str, Any]:
    return {"what": "allreduce", "arguments": {"modes": modes, "num_bytes": num_bytes, "rounds": rounds}}


PARTS = {
    "2x2": two_by_two,
    "2x4": two_by_four,
    "round-robin": round_robin,
    "steps": steps,
    "lossy": lossy,
}

if __name__ == "__main__":
    main()
