"""Token records against other loaders of tokens. Prints a table, and one JSON line last.

    python benchmarks/tokens.py [--quick] [--folder .bench/tokens] [--only danlu,memmap] [--prepare]

Same task for all: random sequences of 2,049 tokens, stored in 2 bytes (litdata: 4, it has no smaller type), in batches
of 16 as int64 in the training process; files in the page cache. The libraries run two workers, ours two threads, the
memory map one process as in nanoGPT. Each runs in a process of its own, the libraries in environments of their own; a
warm-up epoch, then epochs for at least 5 s. Loaders take turns; a ratio is taken within a turn, the median counts.

What the ratios measure: the way of a token from the page cache to a batch. Ours verifies a checksum on the way, the
others verify none. The libraries spend most of their time on single samples in Python and on hand-overs between
processes, which no training on one slow device would notice. "whole" is ours with documents that are never split, which
none of the others does.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
PARTS = HERE / "tokens"
RUN_SECONDS = 120
"""A loader that takes longer than this for a warm-up and 5 s hangs, and is skipped from then on."""

# name -> environment
LOADERS = {
    "memmap": "",
    "danlu": "",
    "danlu whole": "",
    "mosaicml-streaming": "streaming",
    "litdata": "litdata",
}
REQUIREMENTS = {
    "streaming": ["torch==2.13.0", "numpy", "mosaicml-streaming"],
    "litdata": ["torch==2.13.0", "numpy", "litdata"],
}
# name, numerator, denominator, gate, goal
RATIOS = [
    ("tokens / mosaicml-streaming", "danlu", "mosaicml-streaming", 3, 8),
    ("tokens / litdata", "danlu", "litdata", 3, 8),
    ("tokens / numpy memory map", "danlu", "memmap", 0.8, 0.95),
    ("whole documents / numpy memory map", "danlu whole", "memmap", None, None),
]


def main() -> int:
    arguments = _arguments()
    folder = Path(arguments.folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    wanted = [name for name in LOADERS if not arguments.only or name in arguments.only.split(",")]
    missing: dict[str, str] = {}
    for name in list(wanted):
        reason = make_environment(folder / "venvs", LOADERS[name]) if LOADERS[name] else ""
        if reason:
            missing[name] = reason
            wanted.remove(name)
    data = folder / f"data-{arguments.tokens}"
    run("danlu", folder, data, "--prepare", str(arguments.tokens))
    for name in wanted:
        if LOADERS[name]:
            run(name, folder, data, "--prepare", str(arguments.tokens))
    if arguments.prepare:
        return 0
    turns: list[dict[str, float]] = []
    for turn in range(arguments.repeats):
        rates = {}
        for name in list(wanted):
            rate, failure = run(name, folder, data)
            if rate is None:
                wanted.remove(name)
                missing[name] = failure
                continue
            rates[name] = rate
            print(f"turn {turn + 1}  {name:20} {rate / 1e6:8.1f} M tokens/s", file=sys.stderr, flush=True)
        turns.append(rates)
    figures = make_figures(turns, missing)
    print(f"\n{'loader':22}M tokens/s (median; turns)")
    for name in wanted:
        found = [turn[name] / 1e6 for turn in turns if name in turn]
        print(f"{name:22}{statistics.median(found):8.1f}  ({', '.join(f'{rate:.1f}' for rate in found)})")
    for name, reason in missing.items():
        print(f"{name:22}not measured: {reason}")
    print(f"load average {' '.join(f'{load:.2f}' for load in os.getloadavg())}, {os.cpu_count()} cores\n")
    for figure in figures:
        value = "not measured" if figure["value"] is None else f"{figure['value']:.3f}"
        print(f"{figure['name']:38} {value}  gate {figure['gate']}  goal {figure['goal']}")
    print(json.dumps({"bench": "tokens", "figures": figures, "not_measured": missing}))
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="100 million tokens instead of 400, 3 turns instead of 5")
    parser.add_argument("--folder", default=str(ROOT / ".bench" / "tokens"), help="for data and environments; kept")
    parser.add_argument("--only", help="names of loaders, with commas")
    parser.add_argument("--prepare", action="store_true", help="only make data and environments")
    arguments = parser.parse_args()
    arguments.tokens = 100_000_000 if arguments.quick else 400_000_000
    arguments.repeats = 3 if arguments.quick else 5
    return arguments


def make_environment(venvs: Path, name: str) -> str:
    """Create a virtual environment unless it exists; return an error if that failed."""
    done = venvs / f"{name}.installed"
    if done.is_file():
        return ""
    print(f"installing {name} ...", file=sys.stderr, flush=True)
    venvs.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.executable, "-m", "venv", str(venvs / name)], check=True)
    command = [str(venvs / name / "bin" / "python"), "-m", "pip", "install", "-q", *REQUIREMENTS[name]]
    installed = subprocess.run(command, capture_output=True, text=True, check=False)
    if installed.returncode:
        lines = [line for line in installed.stderr.splitlines() if line.strip()]
        return f"does not install: {lines[-1][:160] if lines else 'pip failed'}"
    done.touch()
    return ""


def run(name: str, folder: Path, data: Path, *extra: str) -> tuple[float | None, str]:
    """Return tokens per second, or the reason why nothing was measured."""
    python = str(folder / "venvs" / LOADERS[name] / "bin" / "python") if LOADERS[name] else sys.executable
    command = [python, str(PARTS / "run_one.py"), name, str(data), *extra]
    limit = 600 if extra else RUN_SECONDS
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=limit)
    except subprocess.TimeoutExpired:
        return None, f"did not finish within {limit} s"
    for line in reversed(done.stdout.splitlines()):
        if line.startswith("{"):
            result = json.loads(line)
            return result["tokens"] / result["seconds"], ""
    if done.returncode:
        print(f"{name} failed:\n{done.stderr[-1500:]}", file=sys.stderr)
    return None, "installs, but fails to run here"


def make_figures(turns: list[dict[str, float]], missing: dict[str, str]) -> list[dict[str, object]]:
    """Return a figure per ratio; one that was not measured has no value, and a reason."""
    figures: list[dict[str, object]] = []
    for name, ours, theirs, gate, goal in RATIOS:
        ratios = [turn[ours] / turn[theirs] for turn in turns if ours in turn and theirs in turn]
        figure: dict[str, object] = {"name": name, "value": None, "gate": gate, "goal": goal}
        if ratios:
            figure["value"] = round(statistics.median(ratios), 3)
        else:
            figure["why"] = missing.get(theirs) or missing.get(ours) or "left out"
        figures.append(figure)
    return figures


if __name__ == "__main__":
    sys.exit(main())
