"""Hardware and software of the node of a rank, as far as they are visible in a job."""

from __future__ import annotations

import os
import platform
import sys
from typing import Any


def facts_of() -> dict[str, Any]:
    facts: dict[str, Any] = {
        "machine": platform.machine(),
        "cpu": _from_file("/proc/cpuinfo", "model name") or platform.processor(),
        "cpus": len(os.sched_getaffinity(0)),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "device_type": os.environ.get("DANLU_DEVICE_TYPE", ""),
        "device_ids": os.environ.get("DANLU_DEVICE_IDS", ""),
    }
    torch = sys.modules.get("torch")
    if torch is not None:
        facts["torch"] = str(torch.__version__)
        if torch.cuda.is_available():
            facts["cuda"] = str(torch.version.cuda)
            facts["device"] = torch.cuda.get_device_name(0)
    return facts


def _from_file(path: str, name: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith(name):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return ""
