"""Image records against everything else that feeds training on a CPU. Prints a table, and one JSON line last.

    python benchmarks/records.py [--quick] [--folder .bench/records] [--only native,danlu] [--skip-peers] [--prepare]

Same task for all: RandomResizedCrop(224, antialiased) + flip + normalise to float32, batches of 64, two workers or
threads, files in the page cache. Each pipeline runs in a process of its own, in a virtual environment of its own that
is made on first use; one warm-up epoch, then timed ones for at least 5 s (slow storage: no warm-up). Pipelines take
turns; a ratio is taken within a turn, and the median of the turns counts.

What the ratios measure: mosaicml-streaming, webdataset and litdata bring no decoder, so "(Pillow)" measures Pillow and
torchvision, as the ratio to native does, and not their formats. "(simplejpeg)" is the same libraries with the fastest
decoder that they let a user bring: libjpeg-turbo through simplejpeg, and PyTorch's resize of bytes. On slow storage
native has as many workers as we have threads that read. "own Python transform" is a callable on PIL images, in our
threads and in native's workers.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
PARTS = HERE / "records"
sys.path.insert(0, str(PARTS))

from memory import TIMED_OUT, peak_while_running  # noqa: E402

DELAY_US = 5000
RUN_SECONDS = 90
"""A pipeline that takes longer than this for two epochs hangs, and is skipped from then on."""


@dataclass(frozen=True)
class Pipeline:
    name: str
    environment: str
    module: str
    function: str = "open_pipeline"
    where: str = "warm"  # or "slow": on the file system with delayed reads


PIPELINES = [
    Pipeline("native", "ours", "native"),
    Pipeline("danlu raw", "ours", "danlu", "open_raw"),
    Pipeline("danlu", "ours", "danlu"),
    Pipeline("danlu bytes", "ours", "danlu", "open_bytes"),
    Pipeline("danlu own transform", "ours", "danlu", "open_own_transform"),
    Pipeline("danlu tars", "ours", "danlu_tars"),
    Pipeline("dataset + Compose", "ours", "danlu_dataset"),
    Pipeline("dataset + Compose bytes", "ours", "danlu_dataset", "open_bytes"),
    Pipeline("dataset + PIL", "ours", "danlu_dataset", "open_pillow"),
    Pipeline("native slow", "ours", "native", "open_slow", where="slow"),
    Pipeline("danlu slow", "ours", "danlu", "open_slow", where="slow"),
    Pipeline("dali", "dali", "dali"),
    Pipeline("ffcv raw", "ffcv", "ffcv_peer"),
    Pipeline("tf.data", "tfdata", "tfdata"),
    Pipeline("streaming", "streaming", "streaming_peer"),
    Pipeline("streaming fast", "streaming", "streaming_peer", "open_fastest"),
    Pipeline("litdata", "litdata", "litdata_peer"),
    Pipeline("litdata fast", "litdata", "litdata_peer", "open_fastest"),
    Pipeline("webdataset", "webdataset", "webdataset_peer"),
    Pipeline("webdataset fast", "webdataset", "webdataset_peer", "open_fastest"),
]

TORCH = ["torch==2.13.0", "numpy", "pillow"]
REQUIREMENTS = {
    "ours": [*TORCH, str(ROOT / "accel")],
    "dali": ["numpy", "nvidia-dali-cuda120"],
    "ffcv": [
        *TORCH,
        *["numba", "tqdm", "psutil", "pandas", "fastargs", "terminaltables", "threadpoolctl", "assertpy"],
        "opencv-python-headless",
    ],
    "tfdata": ["numpy", "tensorflow-cpu"],
    "streaming": [*TORCH, "mosaicml-streaming", "simplejpeg"],
    "litdata": [*TORCH, "litdata", "simplejpeg"],
    "webdataset": [*TORCH, "webdataset", "simplejpeg"],
}
WITHOUT_DEPENDENCIES = {
    "ours": ["torchvision"],
    "ffcv": ["setuptools", "wheel", "ffcv"],
    "streaming": ["torchvision"],
    "litdata": ["torchvision"],
    "webdataset": ["torchvision"],
}

SYSTEM_PACKAGES = {"ffcv": "its build needs g++ pkg-config libturbojpeg0-dev libopencv-dev"}

# name, numerator, denominator, gate, goal
RATIOS = [
    ("same bytes / native", "danlu raw", "native", 2.6, 3.0),
    ("restart markers / native", "danlu", "native", 3.3, 4.0),
    ("bytes / floats", "danlu bytes", "danlu", 1.15, 1.3),
    ("own Python transform / native", "danlu own transform", "native", 1.5, 2.0),
    ("/ DALI CPU", "danlu", "dali", 2.2, 2.8),
    ("/ ffcv raw", "danlu", "ffcv raw", 1.6, 2.1),
    ("/ tf.data antialiased", "danlu", "tf.data", 2.8, 3.5),
    ("/ mosaicml-streaming (Pillow)", "danlu", "streaming", 2.8, 3.5),
    ("/ litdata (Pillow)", "danlu", "litdata", 2.8, 3.5),
    ("/ webdataset (Pillow)", "danlu", "webdataset", 2.8, 3.5),
    ("/ mosaicml-streaming (simplejpeg)", "danlu", "streaming fast", None, None),
    ("/ litdata (simplejpeg)", "danlu", "litdata fast", None, None),
    ("/ webdataset (simplejpeg)", "danlu", "webdataset fast", None, None),
    ("WebDataset's tars in place / webdataset (simplejpeg)", "danlu tars", "webdataset fast", None, None),
    ("slow storage 5 ms / native", "danlu slow", "native slow", 4.0, 4.95),
    ("IndexTFRDataset + Compose / native", "dataset + Compose", "native", 2.2, 2.6),
    ("IndexTFRDataset + Compose, bytes / floats", "dataset + Compose bytes", "dataset + Compose", 1.15, 1.3),
    ("IndexTFRDataset + PIL / native", "dataset + PIL", "native", 0.97, 1.0),
]


@dataclass(frozen=True)
class Measured:
    rate: float
    peak_mb: float


def main() -> int:
    arguments = _arguments()
    folder = Path(arguments.folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    wanted = [p for p in PIPELINES if not arguments.only or p.name in arguments.only.split(",")]
    if arguments.skip_peers:
        wanted = [p for p in wanted if p.environment == "ours"]
    missing: dict[str, str] = {}
    for environment in dict.fromkeys(p.environment for p in wanted):
        reason = make_environment(folder / "venvs", environment, refresh=arguments.refresh)
        if reason:
            missing[environment] = reason
    data = make_data(folder, 2000 if arguments.quick else 3000)
    wanted = [p for p in wanted if p.environment not in missing]
    if arguments.prepare:
        for pipeline in wanted:
            if pipeline.where == "warm":
                run_one(pipeline, data, folder, "--prepare")
        return 0
    with SlowStorage(data) as slow:
        if slow.reason:
            wanted = [p for p in wanted if p.where == "warm"]
            missing["slow storage"] = slow.reason
        turns = run_turns(wanted, data, slow, folder, arguments.repeats, missing)
    starving = run_starving(folder, data, arguments.repeats) if "native" in {p.name for p in wanted} else []
    figures = make_figures(turns, starving, missing)
    print_table(wanted, turns, missing)
    for figure in figures:
        value = "not measured" if figure["value"] is None else f"{figure['value']:.3f}"
        print(f"{figure['name']:38} {value}  gate {figure['gate']}  goal {figure['goal']}")
    print(json.dumps({"bench": "records", "figures": figures, "not_measured": missing}))
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--quick", action="store_true", help="2,000 photos instead of 3,000, and 3 turns: a few minutes"
    )
    parser.add_argument("--folder", default=str(ROOT / ".bench" / "records"), help="for data and environments; kept")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", help="names of pipelines, with commas")
    parser.add_argument("--skip-peers", action="store_true")
    parser.add_argument("--prepare", action="store_true", help="only make data and environments")
    parser.add_argument("--refresh", action="store_true", help="install danlu-accel again")
    return parser.parse_args()


def python_of(venvs: Path, name: str) -> Path:
    return venvs / name / "bin" / "python"


def make_environment(venvs: Path, name: str, *, refresh: bool) -> str:
    """Create a virtual environment unless it exists; return an error if that failed."""
    done = venvs / f"{name}.installed"
    if done.is_file() and not (name == "ours" and refresh):
        return ""
    print(f"installing {name} ...", file=sys.stderr, flush=True)
    venvs.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.executable, "-m", "venv", str(venvs / name)], check=True)
    ours = ["-c", str(ROOT / "constraints.txt")] if name == "ours" else []  # other environments need other versions
    pip = [str(python_of(venvs, name)), "-m", "pip", "install", "-q", *ours]
    commands = [[*pip, *REQUIREMENTS[name]]]
    for package in WITHOUT_DEPENDENCIES.get(name, []):
        isolation = ["--no-build-isolation"] if package == "ffcv" else []
        commands.append([*pip, "--no-deps", *isolation, package])
    for command in commands:
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if run.returncode:
            lines = [line for line in run.stderr.splitlines() if line.strip()]
            needs = f" ({SYSTEM_PACKAGES[name]})" if name in SYSTEM_PACKAGES else ""
            return f"does not install{needs}: {lines[-1][:160] if lines else 'pip failed'}"
    done.touch()
    return ""


def make_data(folder: Path, count: int) -> Path:
    """Create photos, and shards of them, unchanged and with restart markers."""
    python = str(python_of(folder / "venvs", "ours"))
    data = folder / f"data-{count}"
    code = (
        "import sys, pathlib; sys.path.insert(0, sys.argv[1]); import photos; "
        "photos.make_photos(pathlib.Path(sys.argv[2]), int(sys.argv[3]))"
    )
    subprocess.run([python, "-c", code, str(PARTS), str(data / "photos"), str(count)], check=True)
    for name, flags in (("raw", ["--keep-bytes"]), ("rst", [])):
        if not (data / name / "train.index").is_file():
            target = str(data / name / "train")
            command = [python, "-m", "danlu_accel.records.cli", "pack", str(data / "photos"), target]
            subprocess.run([*command, "--workers", "2", "--shards", "4", "--shuffle", "1", *flags], check=True)
    return data


class SlowStorage:
    """A second mount of the data through a file system that delays each read."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._point = Path(tempfile.mkdtemp(prefix="danlu-slow-"))
        self._process: subprocess.Popen[bytes] | None = None
        self.reason = ""

    @property
    def folder(self) -> Path:
        return self._point

    def __enter__(self) -> SlowStorage:
        flags = subprocess.run(
            ["pkg-config", "--cflags", "--libs", "fuse3"], capture_output=True, text=True, check=False
        )
        if flags.returncode or not shutil.which("gcc") or not os.access("/dev/fuse", os.R_OK | os.W_OK):
            self.reason = "needs gcc, libfuse3-dev, fuse3 and /dev/fuse"
            return self
        program = self._data / "slowfs"
        subprocess.run(["gcc", "-O2", "-o", str(program), str(PARTS / "slowfs.c"), *flags.stdout.split()], check=True)
        self._process = subprocess.Popen(
            [str(program), str(self._data.resolve()), str(self._point), "-f", "-o", "max_read=1048576"],
            env={**os.environ, "SLOWFS_DELAY_US": str(DELAY_US)},
            stderr=subprocess.DEVNULL,
        )
        for _ in range(50):
            if os.path.ismount(self._point):
                return self
            time.sleep(0.1)
        self.reason = "the FUSE file system cannot be mounted here"
        return self

    def __exit__(self, *exception: object) -> None:
        if self._process is not None:
            subprocess.run(["fusermount3", "-u", str(self._point)], check=False)
            self._process.terminate()
            self._process.wait()
        self._point.rmdir()


def run_turns(
    wanted: list[Pipeline], data: Path, slow: SlowStorage, folder: Path, repeats: int, missing: dict[str, str]
) -> list[dict[str, Measured]]:
    for pipeline in wanted:
        if pipeline.where == "warm":
            run_one(pipeline, data, folder, "--prepare")
    turns: list[dict[str, Measured]] = []
    for turn in range(repeats):
        results = {}
        for pipeline in list(wanted):
            place = slow.folder if pipeline.where == "slow" else data
            measured, failure = run_one(pipeline, place, folder)
            if measured is None:
                wanted.remove(pipeline)
                missing[pipeline.name] = failure
            else:
                results[pipeline.name] = measured
                load = os.getloadavg()[0]
                text = f"{measured.rate:7.0f} images/s  {measured.peak_mb:6.0f} MB  load {load:.1f}"
                print(f"turn {turn + 1}  {pipeline.name:20} {text}", file=sys.stderr, flush=True)
        turns.append(results)
    return turns


def run_one(pipeline: Pipeline, place: Path, folder: Path, *extra: str) -> tuple[Measured | None, str]:
    """Return the measurement, or the reason why there is none."""
    cold = ["--cold"] if pipeline.where == "slow" else []  # nothing is cached there, so a warm-up would only take time
    command = [str(python_of(folder / "venvs", pipeline.environment)), str(PARTS / "run_one.py")]
    output, peak = peak_while_running(
        [*command, pipeline.module, pipeline.function, str(place), *extra, *cold], 600 if extra else RUN_SECONDS
    )
    if extra:
        return None, "prepared"
    for line in reversed(output.splitlines()):
        if line.startswith("{"):
            result = json.loads(line)
            return Measured(result["images"] / result["seconds"], peak), ""
    print(f"{pipeline.name} failed:\n{output[-1500:]}", file=sys.stderr)
    if output == TIMED_OUT:
        return None, f"did not finish within {RUN_SECONDS} s"
    return None, "installs, but fails to run here"


def run_starving(folder: Path, data: Path, repeats: int) -> list[float]:
    command = [str(python_of(folder / "venvs", "ours")), str(PARTS / "starving.py"), str(data / "rst")]
    shares = []
    for _ in range(repeats):
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        shares.append(json.loads(done.stdout.splitlines()[-1])["starved_share"])
    return shares


def make_figures(
    turns: list[dict[str, Measured]], starving: list[float], missing: dict[str, str]
) -> list[dict[str, object]]:
    """Return a figure per row; one that was not measured has no value, and a reason."""
    environments = {pipeline.name: pipeline.environment for pipeline in PIPELINES}

    def why(pipeline: str) -> str:
        slow = missing.get("slow storage", "") if pipeline.endswith(" slow") else ""
        return slow or missing.get(pipeline) or missing.get(environments[pipeline]) or ""

    figures = []
    for name, ours, theirs, gate, goal in RATIOS:
        ratios = [turn[ours].rate / turn[theirs].rate for turn in turns if ours in turn and theirs in turn]
        figures.append(_figure(name, ratios, gate, goal, why(theirs) or why(ours)))
    figures.append(_figure("share of time starved at 70 % load", starving, 0.015, 0.01, why("native")))
    memory = [turn["danlu"].peak_mb / turn["native"].peak_mb for turn in turns if {"danlu", "native"} <= set(turn)]
    figures.append(_figure("memory / native", memory, 1.1, 0.8, why("native")))
    return figures


def _figure(name: str, values: list[float], gate: float | None, goal: float | None, why: str) -> dict[str, object]:
    figure: dict[str, object] = {"name": name, "value": None, "gate": gate, "goal": goal}
    if values:
        return {**figure, "value": round(statistics.median(values), 4)}
    return {**figure, "why": why or "left out"}


def print_table(wanted: list[Pipeline], turns: list[dict[str, Measured]], missing: dict[str, str]) -> None:
    print(f"\n{'pipeline':25}{'images/s (median; turns)':40}peak MB")
    for pipeline in wanted:
        found = [turn[pipeline.name] for turn in turns if pipeline.name in turn]
        if found:
            rates = ", ".join(f"{measured.rate:.0f}" for measured in found)
            median = statistics.median(measured.rate for measured in found)
            print(f"{pipeline.name:25}{f'{median:.0f} ({rates})':40}{max(m.peak_mb for m in found):.0f}")
    for name, reason in missing.items():
        print(f"{name:25}not measured: {reason}")
    print(f"load average {' '.join(f'{load:.2f}' for load in os.getloadavg())}, {os.cpu_count()} cores\n")


if __name__ == "__main__":
    sys.exit(main())
