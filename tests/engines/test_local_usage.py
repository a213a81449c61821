"""What tasks use, measured beside real processes."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path

import pytest
from tests.engines.conftest import make_settings

from danlu.engines.local import LocalEngine
from danlu.journal.usage import QUANTITIES, Cell, read_cells
from danlu.testing.engines import Started, Starter
from danlu.testing.waiting import wait_until

WORK = """
import os, subprocess, sys, time
burn = 'import time\\nwhile time.process_time() < {}: pass'
child = subprocess.Popen([sys.executable, '-c', burn.format(0.9)])
held = bytearray(200 << 20)
while time.process_time() < 0.9: pass
child.wait()
with open(os.environ['HOME'] + '/f', 'wb') as file:
    file.write(bytes(32 << 20))
    os.fsync(file.fileno())
subprocess.run([sys.executable, '-c', burn.format(0.5)])
"""


def cells_of(started: Started, rank: int = 0) -> list[Cell]:
    piece = started.engine.read_usage(started.handles[rank], -1, 0)
    return [] if piece is None else list(read_cells(piece.data))


def sums(cells: list[Cell], quantity: str) -> float:
    return sum(cell.seconds * cell.means[QUANTITIES.index(quantity)] for cell in cells)


class TestUse:
    def test_cores_memory_and_bytes_of_all_its_processes(self, starter: Starter, kind: str) -> None:
        """With a limit a control group counts the memory, without one its processes are added up."""
        resources = {"memory": "2GiB"} if kind == "sandbox" else {}
        started = starter.start(["python3", "-c", WORK], resources=resources)
        started.wait()
        cells = cells_of(started)
        assert 2.3 < sums(cells, "cpu") < 3.8, cells
        assert 200 << 20 < max(cell.peaks[1] for cell in cells if not math.isnan(cell.peaks[1])) < 300 << 20
        assert 31 << 20 < sums(cells, "written") < 40 << 20
        assert all(math.isnan(cell.means[6]) for cell in cells), "there are no devices"

    def test_the_network_of_a_gang_is_counted_once(self, tmp_path: Path) -> None:
        engine = LocalEngine(make_settings(tmp_path, "sandbox"))
        if not engine.nodes()[0].has_own_network:
            pytest.skip("; ".join(engine.nodes()[0].missing))  # each says what to install or who to be
        starter = Starter(engine)
        code = (
            "import os, socket, time\nhere = socket.create_server(('', 5000 + int(os.environ['DANLU_RANK'])))\n"
            "far = socket.create_connection(('127.0.0.1', here.getsockname()[1]))\nnear, _ = here.accept()\n"
            "while not os.path.exists('go'): time.sleep(0.05)\n"
            "for _ in range(64):\n    far.sendall(bytes(1 << 16)); n = 0\n"
            "    while n < 1 << 16: n += len(near.recv(1 << 16))\n"
            "time.sleep(3600)\n"
        )
        started = starter.start(["python3", "-c", code], nodes=2)
        try:
            for rank in range(2):
                wait_until(lambda rank=rank: cells_of(started, rank))  # type: ignore[misc]
                started.let_go(rank)
            measured = partial(filter, lambda cell: not math.isnan(cell.means[4]))
            wait_until(lambda: sums(list(measured(cells_of(started))), "received") > 4 << 20)
            started.stop()
            assert all(math.isnan(cell.means[4]) for cell in cells_of(started, 1))
        finally:
            starter.clean_up()
