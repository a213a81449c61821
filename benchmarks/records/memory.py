"""Run a command and measure the memory of its process tree, without page cache."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import threading
from pathlib import Path

TIMED_OUT = "timed out"
FIELDS = re.compile(r"^Pss_(?:Anon|Shmem):\s+(\d+) kB", re.MULTILINE)


def peak_while_running(command: list[str], timeout_seconds: float) -> tuple[str, float]:
    """Return what the command printed, and the peak of its tree's Pss_Anon + Pss_Shmem in MB."""
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    peak = 0.0
    ended = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not ended.wait(0.5):
            peak = max(peak, sum(_memory_mb(pid) for pid in _tree(process.pid)))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        output, _ = process.communicate(timeout=timeout_seconds)
    except subprocess.TimeoutExpired:
        output = TIMED_OUT
    finally:
        ended.set()
        watcher.join()
        _end_session(process)
    return output, peak


def _end_session(process: subprocess.Popen[str]) -> None:
    """Kill what the command left running: workers of loaders that did not notice the death of their parent."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, 9)
    process.wait()


def _tree(root: int) -> list[int]:
    found, queue = [], [root]
    while queue:
        pid = queue.pop()
        found.append(pid)
        for task in Path(f"/proc/{pid}/task").glob("*/children"):
            try:
                queue.extend(int(child) for child in task.read_text().split())
            except OSError:
                continue
    return found


def _memory_mb(pid: int) -> float:
    try:
        return sum(map(int, FIELDS.findall(Path(f"/proc/{pid}/smaps_rollup").read_text()))) / 1024
    except OSError:
        return 0.0
