"""A Danlu client: writes journals, and sends one with the product's own sender for each line on stdin.

python send.py URL API_KEY FOLDER NUM_POINTS REPEATS
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from danlu import journal
from danlu.transfer.api import Api
from danlu.transfer.http_carrier import HttpCarrier
from danlu.transfer.journals import announce, send_journal
from danlu.transfer.retrying import Retry

ROWS_PER_FRAME = 500
"""About 50 ms of logging in a busy script."""


def main() -> None:
    url, api_key, folder, num_points, repeats = sys.argv[1:]
    api = Api(HttpCarrier(url, api_key), Retry(60.0))
    for _ in range(int(repeats)):
        run = journal.new_run_id()
        header = {"run": run, "name": "bench", "created_at": time.time(), "branch": 1, "writer": "process"}
        path = write(Path(folder), header, int(num_points))
        announce(api, header)
        print("ready", flush=True)
        sys.stdin.readline()
        send_journal(api, run, str(path))
        print(json.dumps({"ended": time.time(), "run": run}), flush=True)
        path.unlink()


def write(folder: Path, header: dict[str, object], num_points: int) -> Path:
    """Write a journal with two values per step."""
    name = journal.new_journal_id()
    pack = journal.row_struct(2).pack
    rows = [pack(step, 1.7e9 + step, 1.0, step / 3, step * 2.0) for step in range(num_points // 2)]
    frames = [journal.encode_points(1, rows[at : at + ROWS_PER_FRAME]) for at in range(0, len(rows), ROWS_PER_FRAME)]
    head = journal.file_header(name) + journal.encode_run(header)
    layout = journal.encode_layout(journal.Layout(1, "train", ("loss", "acc")))
    path = folder / f"{name}.journal"
    path.write_bytes(b"".join([head, layout, *frames]))
    return path


if __name__ == "__main__":
    main()
