"""Records, less precision and the exchange together: whole training on two hosts beside plain PyTorch.

    python benchmarks/together.py --quick

A ResNet-50, a ResNeXt-50 and a detector train on photographs, two hosts with two ranks each (network namespaces joined
by one link; needs root). Plain PyTorch reads files, computes in float32 and exchanges by DDP; each part is added to the
one before. Modes take turns inside one launch; a ratio is taken within a turn. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "accel" / "src"))

from comm_lab.figures import Figure
from comm_lab.launch import torchrun
from comm_lab.network import lab, require_root
from together.data import make_data
from together.measure import MODES
from together.tasks import TASKS

FOLDER = Path(__file__).resolve().parents[1] / ".bench" / "together"
RANKS_PER_HOST = 2
BATCH = 8
LINES = {"resnet50": (1.6, 2.0), "resnext50": (1.4, 1.8), "detector": (1.16, 1.5)}
"""Gate and goal of all parts together. A detector's gate is what TI-ACC's guide shows for CenterNet."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="three rounds of two steps instead of seven of eight")
    parser.add_argument("--smoke", action="store_true", help="one round of one step, to see that it works")
    parser.add_argument("--rate", default="1gbit", help="of the link in each direction (default: 1gbit)")
    parser.add_argument("--only", choices=TASKS, action="append", help="this one only; may be given several times")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where photographs are kept")
    given = parser.parse_args()
    require_root()
    rounds, num_steps = (1, 1) if given.smoke else (3, 2) if given.quick else (7, 8)
    make_data(given.folder, 480)
    figures: list[Figure] = []
    with lab(given.rate) as hosts:
        for name in given.only or TASKS:
            arguments = {
                "task": name,
                "folder": str(given.folder),
                "batch_size": BATCH,
                "num_steps": num_steps,
                "rounds": rounds,
            }
            measured = torchrun(hosts, RANKS_PER_HOST, {"what": "together", "arguments": arguments}, 1800)
            figures.append(together_figure(name, measured))
            print(figures[-1].as_line(), flush=True)
    print(json.dumps({"bench": "together", "figures": [figure.as_json() for figure in figures]}))


def together_figure(name: str, measured: dict[str, Any]) -> Figure:
    """All parts over plain PyTorch; the note has images per second and rank, part by part."""
    gate, goal = LINES[name]
    rates, ratios = measured["rates"], measured["ratios"]
    parts = ", ".join(f"{mode} {rates[mode]:.1f} ({ratios[mode]:.2f})" for mode in MODES)
    return Figure(f"together_{name}_2x2", ratios[MODES[-1]], gate, goal, None, note=f"{parts}; {measured['precision']}")


if __name__ == "__main__":
    main()
