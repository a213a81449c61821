"""Move a file or a folder with Danlu's client: WAY REMOTE LOCAL. Prints seconds, and how much memory it took."""

from __future__ import annotations

import json
import resource
import sys
import time

from danlu.client import Client


def main() -> None:
    way, remote, local = sys.argv[1:]
    with Client() as client:
        list(client.store.buckets())
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        began = time.monotonic()
        if way == "up":
            client.store.upload(local, remote)
        else:
            client.store.download(remote, local)
        seconds = time.monotonic() - began
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(json.dumps({"seconds": seconds, "grown_bytes": grown * 1024}))


if __name__ == "__main__":
    main()
