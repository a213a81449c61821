"""Copy a file from another node through a Ray actor: `python actor_copy.py ADDRESS NODE FILE TARGET`.

Copies the file once per input line; prints the seconds of each copy.
"""

from __future__ import annotations

import sys
import time

import ray

PIECE_BYTES = 4 << 20


@ray.remote(num_cpus=0)
class Reader:
    def __init__(self, path: str) -> None:
        self._file = open(path, "rb")  # noqa: SIM115

    def read(self, offset: int, limit: int) -> bytes:
        self._file.seek(offset)
        return self._file.read(limit)


def main(address: str, node: str, path: str, target: str) -> None:
    ray.init(address=address, log_to_driver=False, configure_logging=False)
    reader = Reader.options(resources={f"node:{node}": 0.001}).remote(path)
    ray.get(reader.read.remote(0, 1), timeout=60)
    for _ in sys.stdin:
        began = time.perf_counter()
        with open(target, "wb") as copy:
            while piece := ray.get(reader.read.remote(copy.tell(), PIECE_BYTES), timeout=60):
                copy.write(piece)
        print(time.perf_counter() - began, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
