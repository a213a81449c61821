"""Run one pipeline in this process: a warm-up epoch, then timed ones until the last batch. Prints one JSON line."""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from pathlib import Path

TIMED_SECONDS = 5.0
sys.path[:0] = [str(Path(__file__).parent / "peers"), str(Path(__file__).parent)]


def main(module_name: str, function: str, folder: str, *, prepare_only: bool, warm_up: bool) -> None:
    data = Path(folder)
    module = importlib.import_module(module_name)
    if hasattr(module, "prepare"):
        module.prepare(data)
    if prepare_only:
        return
    epoch = getattr(module, function)(data)
    if warm_up:
        for _ in epoch():
            pass
    cpu_before = os.times()
    began = last = time.perf_counter()
    images = 0
    while last - began < TIMED_SECONDS:
        for count in epoch():
            images += count
            last = time.perf_counter()
    cpu = os.times()
    used = cpu.user + cpu.system - cpu_before.user - cpu_before.system
    print(json.dumps({"images": images, "seconds": last - began, "own_cpu_seconds": used}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], prepare_only="--prepare" in sys.argv, warm_up="--cold" not in sys.argv)
    sys.stdout.flush()
    os._exit(0)  # some loaders hang at exit; the results are already printed
