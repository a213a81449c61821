"""Resource usage of a process and its children, from /proc and, for GPUs, nvidia-smi."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from typing import NamedTuple, Optional

_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
GPU_QUERY = "index,utilization.gpu,memory.used"


class Sample(NamedTuple):
    at: float
    cpu_seconds: dict[int, float]
    """Per process, so that the sum does not decrease when one ends."""

    memory_bytes: int
    machine_busy: float
    machine_total: float
    machine_memory_bytes: int


class Meter:
    """Computes usage between two samples."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._last = sample(pid)
        self._nvidia = shutil.which("nvidia-smi")

    def read(self) -> dict[str, float]:
        """Return the usage since the last call; empty when it is unknown."""
        before, now = self._last, sample(self._pid)
        self._last = now
        if before is None or now is None or now.at <= before.at:
            return {}
        used = sum(max(0.0, total - before.cpu_seconds.get(pid, 0.0)) for pid, total in now.cpu_seconds.items())
        machine = now.machine_total - before.machine_total
        return {
            "cpu_percent": 100 * used / (now.at - before.at),
            "memory_bytes": float(now.memory_bytes),
            "machine_cpu_percent": 100 * (now.machine_busy - before.machine_busy) / machine if machine > 0 else 0.0,
            "machine_memory_bytes": float(now.machine_memory_bytes),
            **(gpus(self._nvidia) if self._nvidia else {}),
        }


def sample(pid: int) -> Optional[Sample]:
    """Sample a process and its descendants; None without /proc."""
    try:
        children: dict[int, list[int]] = {}
        cpu: dict[int, float] = {}
        memory: dict[int, int] = {}
        for name in os.listdir("/proc"):
            if name.isdigit():
                _look(int(name), children, cpu, memory)
        tree = _tree(pid, children)
        with open("/proc/stat") as file:
            numbers = [int(word) for word in file.readline().split()[1:9]]
        idle = numbers[3] + numbers[4]
        return Sample(
            time.monotonic(),
            {one: cpu[one] for one in tree if one in cpu},
            sum(memory.get(one, 0) for one in tree),
            float(sum(numbers) - idle),
            float(sum(numbers)),
            _machine_memory(),
        )
    except (OSError, ValueError, IndexError):
        return None


def gpus(program: str) -> dict[str, float]:
    """Return the usage of all visible GPUs; empty when the program fails."""
    command = [program, f"--query-gpu={GPU_QUERY}", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return {}
    found: dict[str, float] = {}
    for line in done.stdout.splitlines() if done.returncode == 0 else ():
        try:
            index, share, used = (float(word) for word in line.split(","))
        except ValueError:  # "[N/A]"
            continue
        found[f"gpu{index:.0f}_percent"] = share
        found[f"gpu{index:.0f}_memory_bytes"] = used * (1 << 20)
    return found


def _look(pid: int, children: dict[int, list[int]], cpu: dict[int, float], memory: dict[int, int]) -> None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:  # it ended
        return
    children.setdefault(int(fields[1]), []).append(pid)
    cpu[pid] = (int(fields[11]) + int(fields[12])) / _TICKS
    memory[pid] = int(fields[21]) * _PAGE


def _tree(pid: int, children: dict[int, list[int]]) -> list[int]:
    found, waiting = [], [pid]
    while waiting:
        one = waiting.pop()
        found.append(one)
        waiting.extend(children.get(one, ()))
    return found


def _machine_memory() -> int:
    with open("/proc/meminfo") as file:
        known = dict(line.split(":", 1) for line in file)
    total, free = (int(known[name].split()[0]) for name in ("MemTotal", "MemAvailable"))
    return (total - free) * 1024
