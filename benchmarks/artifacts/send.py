"""One upload or download with Danlu's client, in a separate process; prints seconds, bytes and memory as JSON."""

from __future__ import annotations

import json
import resource
import sys
import time

from danlu.client import Client
from danlu.client.tracking.artifacts import Draft, plan


def main() -> None:
    url, key, what, name, path = sys.argv[1:]
    with Client(url, key) as client:
        client.me()
        began = time.perf_counter()
        if what == "upload":
            done = client.artifacts.send(Draft(name), plan(path))
            found = {"size": done.size, "sent_bytes": done.sent_bytes}
        else:
            client.artifacts.download(name, path)
            found = {}
        seconds = time.perf_counter() - began
    used = resource.getrusage(resource.RUSAGE_SELF)
    cpu = used.ru_utime + used.ru_stime
    print(json.dumps({"seconds": seconds, "cpu_seconds": cpu, "memory_mib": used.ru_maxrss / 1024, **found}))


if __name__ == "__main__":
    main()
