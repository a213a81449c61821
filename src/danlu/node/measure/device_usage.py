"""Write utilization and memory of this machine's devices into a file that all tasks here read.

    python -I -S device_usage.py FILE       -> {"npu:0": [0.87, 34359738368], ...}

The tools are slow (npu-smi takes seconds), so only one such process runs at a time; another one exits at once.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import sys
import time

sys.path.append(os.path.abspath(os.path.join(__file__, "../../../..")))

from danlu.node.devices import say
from danlu.node.supervise.records import take_lock

FRESH_SECONDS = 1.0
MIB = 1 << 20

Use = dict[str, tuple[float, int]]
"""`type:number` -> (utilization from 0 to 1, bytes of memory in use)."""


def read_all() -> Use:
    gpus = nvml_use() or parse_nvidia_smi(
        say("nvidia-smi", "--query-gpu=index,utilization.gpu,memory.used", "--format=csv,noheader,nounits")
    )
    return {**gpus, **parse_npu_smi(say("npu-smi", "info"))}


def parse_nvidia_smi(text: str) -> Use:
    """Parse lines such as `0, 87, 34120`. Lines with unknown values (`[N/A]`) are skipped."""
    found = {}
    for line in text.splitlines():
        parts = [part.strip() for part in line.split(",")]
        if len(parts) == 3 and all(part.isdigit() for part in parts):
            found[f"gpu:{parts[0]}"] = (int(parts[1]) / 100, int(parts[2]) * MIB)
    return found


def parse_npu_smi(text: str) -> Use:
    """Parse the table of `npu-smi info`: the second row of each chip has its utilization and, last, its memory."""
    found: Use = {}
    rows: list[tuple[int, float, int]] = []
    npu = None
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        words = cells[0].split() if line.lstrip().startswith("|") else []
        if len(cells) < 3 or not words or not words[0].isdigit():
            continue
        if re.match(r"[0-9A-Fa-f]{4}:[0-9A-Fa-f]{2}:", cells[1]) and npu is not None:
            number = int(words[1]) if "Phy-ID" in text and len(words) > 1 and words[1].isdigit() else npu
            busy = re.match(r"\d+", cells[2])
            # chips with HBM list it after a DDR memory that they do not have
            held = re.findall(r"(\d+)\s*/\s*\d+", cells[2])
            if busy and held:
                rows.append((number, int(busy[0]) / 100, int(held[-1]) * MIB))
            npu = None
        elif len(words) > 1:
            npu = int(words[0])
    is_counted_through = len({number for number, _, _ in rows}) < len(rows)
    for index, (number, share, held_bytes) in enumerate(rows):
        found[f"npu:{index if is_counted_through else number}"] = (share, held_bytes)
    return found


class _Rates(ctypes.Structure):
    _fields_ = [("gpu", ctypes.c_uint), ("memory", ctypes.c_uint)]


class _Memory(ctypes.Structure):
    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


def nvml_use() -> Use:
    """Query NVML; empty when it is not installed or reports nothing."""
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return {}
    if nvml.nvmlInit_v2() != 0:
        return {}
    try:
        count = ctypes.c_uint(0)
        nvml.nvmlDeviceGetCount_v2(ctypes.byref(count))
        found = {}
        for index in range(count.value):
            handle, minor = ctypes.c_void_p(), ctypes.c_uint(index)
            rates, memory = _Rates(), _Memory()
            asked = (
                nvml.nvmlDeviceGetHandleByIndex_v2(ctypes.c_uint(index), ctypes.byref(handle)),
                nvml.nvmlDeviceGetUtilizationRates(handle, ctypes.byref(rates)),
                nvml.nvmlDeviceGetMemoryInfo(handle, ctypes.byref(memory)),
            )
            nvml.nvmlDeviceGetMinorNumber(handle, ctypes.byref(minor))
            if not any(asked):
                found[f"gpu:{minor.value}"] = (rates.gpu / 100, int(memory.used))
        return found
    finally:
        nvml.nvmlShutdown()


def main(target: str) -> int:
    lock = take_lock(f"{target}.lock", wait_seconds=0.0)
    if lock is None:
        return 0
    try:
        if time.time() - os.stat(target).st_mtime < FRESH_SECONDS:
            return 0
    except OSError:
        pass
    partial = f"{target}.partial"
    with open(partial, "w") as file:
        json.dump(read_all(), file)
    os.replace(partial, target)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
