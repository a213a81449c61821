"""Records, lower precision and the exchange combined: whole training on two hosts, compared with plain PyTorch.

    python benchmarks/together.py --quick

A ResNet-50, a ResNeXt-50 and a small detector train on photographs, on two hosts with two ranks each (network
namespaces joined by one link; needs root). Plain PyTorch reads files, computes in float32 and exchanges by DDP. Each
part alone replaces one of these, and "together" replaces all three: its gain is divided by the product of the parts'
gains. Modes alternate inside one launch; ratios are computed per round. The last line is JSON.
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
from together.measure import PARTS
from together.tasks import TASKS

FOLDER = Path(__file__).resolve().parents[1] / ".bench" / "together"
RANKS_PER_HOST = 2
BATCH = 8
GATE, GOAL = 0.8, 0.95
"""As shares of the product of the gains of the parts."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="three rounds of one step instead of seven of two")
    parser.add_argument("--smoke", action="store_true", help="one round of one step, to see that it works")
    parser.add_argument("--rate", default="200mbit", help="of the link in each direction (default: 200mbit)")
    parser.add_argument("--only", choices=TASKS, action="append", help="this one only; may be given several times")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where photographs are kept")
    given = parser.parse_args()
    require_root()
    rounds, num_steps = (1, 1) if given.smoke else (3, 1) if given.quick else (7, 2)
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
            for figure in together_figures(name, measured):
                figures.append(figure)
                print(figure.as_line(), flush=True)
    print(json.dumps({"bench": "together", "figures": [figure.as_json() for figure in figures]}))


def together_figures(name: str, measured: dict[str, Any]) -> list[Figure]:
    """Return the share of the product with its gate, and the gain of every part for comparison."""
    rates, gains = measured["rates"], measured["gains"]
    note = f"plain PyTorch {rates['native']:.2f} images/s and rank; {measured['precision']}"
    found = [Figure(f"together_of_product_{name}_2x2", measured["of_product"], GATE, GOAL, note=note)]
    for mode in (*PARTS, "together"):
        note = f"{rates[mode]:.2f} images/s and rank, loss {measured['losses'][mode]:.3f}"
        found.append(Figure(f"{mode}_gain_{name}_2x2", gains[mode], note=note))
    return found


if __name__ == "__main__":
    main()
