"""Cost of a job's packages: start of a job whose environment exists, and building an environment of torch's size.

    second start   from `start` to the end of `python -c pass`: with an existing environment, and without one
    making         the build time in the log, against the same by hand: an empty environment, same installer and wheels

Both sides of a figure alternate; the first round of each is not counted. Wheels are created locally, so nothing is
downloaded. Run nothing else meanwhile. The last line printed is JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from typing import Any

from danlu.engines.local import LocalEngine
from danlu.engines.settings import EngineSettings
from danlu.testing.engines import Started, Starter
from danlu.testing.store_server import running_store

NUM_PACKAGES, NUM_FILES = 5, 2000
SIZE, QUICK_SIZE = 1 << 30, 128 << 20
_TOOK = re.compile(r"it took ([0-9.]+) s")


def main() -> None:
    options = _options()
    size = QUICK_SIZE if options.quick else SIZE
    folder = Path(tempfile.mkdtemp(prefix="danlu-bench-", dir=options.dir))
    print(f"load average at the start: {os.getloadavg()[0]:.2f}; {NUM_PACKAGES} packages of {size >> 20} MiB together")
    try:
        figures = measure(folder, size, num_starts=10 if options.quick else 30, num_builds=3 if options.quick else 5)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    for one in figures:
        print(f"{one['name']:<40} {one['value']:>10.4f}   gate {one['gate']}   goal {one['goal']}")
    print(json.dumps({"bench": "environments", "size_mib": size >> 20, "figures": figures}))


def measure(folder: Path, size: int, *, num_starts: int, num_builds: int) -> list[dict[str, Any]]:
    wheels = make_wheels(folder / "wheels", size)
    engine = LocalEngine(EngineSettings(work_dir=folder / "work", server_id="bench"))
    uv = shutil.which("uv", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    with running_store() as store:
        starter = Starter(engine, server_url=store.url, token=store.token)
        code = {"tree": store.add_tree({f"wheels/{path.name}": path.read_bytes() for path in wheels})}
        bare = {"tree": store.add_tree({"none": b""})}
        named = [f"./wheels/{path.name}" for path in wheels]
        made, by_hand = [], []
        for number in range(num_builds + 1):
            by_hand.append(_by_hand(folder / f"by-hand-{number}", wheels, uv))
            made.append(_made(starter, number, code=code, requirements=["--no-index", *named]))
        with_one, without = [], []
        for _ in range(num_starts + 1):
            with_one.append(_seconds(starter, code=bare, requirements=["--no-index"]))
            without.append(_seconds(starter, code=bare))
        starter.clean_up()
    start, plain = statistics.median(with_one[1:]), statistics.median(without[1:])
    making, typed = statistics.median(made[1:]), statistics.median(by_hand[1:])
    print(f"starts: {start:.3f} s with an environment, {plain:.3f} s without")
    print(f"making: {making:.2f} s, by hand {typed:.2f} s, with {'uv' if uv else 'pip'}")
    return [
        figure("second_start_times_without", start / plain, 1.15, 1.05),
        figure("making_times_by_hand", making / typed, 1.3, 1.1),
        figure("making_seconds", making, None, None),
    ]


def _made(starter: Starter, number: int, **fields: Any) -> float:
    """Seconds of a build. Another value of an installer variable gives a new environment."""
    os.sync()
    log = _end(starter.start(["python", "-c", "pass"], env={"PIP_ROUND": str(number)}, **fields)).log()
    took = _TOOK.search(log)
    assert took is not None, log
    return float(took[1])


def make_wheels(folder: Path, size: int) -> list[Path]:
    """Create packages with many small files and one large, incompressible file each."""
    folder.mkdir(parents=True)
    chance = random.Random(7)
    made = []
    for number in range(NUM_PACKAGES):
        name = f"bulk{number}"
        path = folder / f"{name}-1.0-py3-none-any.whl"
        info = f"{name}-1.0.dist-info"
        with zipfile.ZipFile(path, "w") as wheel:
            for file in range(NUM_FILES):
                wheel.writestr(f"{name}/part{file}.py", f"VALUE = {file}\n" * 20)
            wheel.writestr(f"{name}/__init__.py", "")
            wheel.writestr(f"{name}/library.so", chance.randbytes(size // NUM_PACKAGES))
            wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
            wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr(f"{info}/RECORD", "")
        made.append(path)
    return made


def _by_hand(folder: Path, wheels: list[Path], uv: str | None) -> float:
    """Seconds of the manual commands without a cache: `uv venv && uv pip install`, or the same with pip."""
    folder.mkdir()
    os.sync()
    place, cache = folder / "venv", folder / "cache"
    env = {**os.environ, "UV_CACHE_DIR": str(cache), "PIP_NO_CACHE_DIR": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    if uv is not None:
        install = [uv, "pip", "install", "-q", "--compile-bytecode", "--python", str(place / "bin" / "python")]
        commands = [[uv, "venv", "-q", "--python", sys.executable, str(place)], install]
    else:
        install = [sys.executable, "-m", "pip", "--python", str(place / "bin" / "python"), "install", "-q"]
        commands = [[sys.executable, "-m", "venv", "--without-pip", str(place)], install]
    install += ["--no-index", *map(str, wheels)]
    began = time.perf_counter()
    for command in commands:
        subprocess.run(command, check=True, env=env)
    return time.perf_counter() - began


def _seconds(starter: Starter, **fields: Any) -> float:
    began = time.perf_counter()
    _end(starter.start(["python", "-c", "pass"], **fields))
    return time.perf_counter() - began


def _end(started: Started) -> Started:
    (seen,) = started.wait()
    assert seen.exit_code == 0, (seen, started.log())
    return started


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_SIZE >> 20} MiB of packages, not 1 GiB")
    parser.add_argument("--dir", type=Path, help="where the files are made; they need 20 times their size")
    return parser.parse_args()


def figure(name: str, value: float, gate: float | None, goal: float | None) -> dict[str, Any]:
    return {"name": name, "value": round(value, 4), "gate": gate, "goal": goal}


if __name__ == "__main__":
    main()
