"""Move a file or a folder with Danlu's client: WAY REMOTE LOCAL. Prints seconds and memory used."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from danlu.client import Client


def main() -> None:
    way, remote, local = sys.argv[1:]
    with Client() as client:
        list(client.store.buckets())
        Path("/proc/self/clear_refs").write_text("5")  # reset the peak
        before = _memory("VmRSS")
        began = time.monotonic()
        if way == "up":
            client.store.upload(local, remote)
        else:
            client.store.download(remote, local)
        seconds = time.monotonic() - began
    print(json.dumps({"seconds": seconds, "grown_bytes": _memory("VmHWM") - before}))


def _memory(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))


if __name__ == "__main__":
    main()
