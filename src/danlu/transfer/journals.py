"""Brings journals of runs to the server: whole frames, from where its copy ends. Any number may do so at once.

The protocol is in `docs/formats/journal.md`. Nothing is remembered here: the server says what it has.
"""

from __future__ import annotations

import os
from typing import Any, Optional

from danlu.journal import (
    FILE_HEADER_BYTES,
    MAX_PAYLOAD_BYTES,
    BadJournal,
    Kind,
    decode_json,
    piece,
    read_file_header,
    scan,
)
from danlu.transfer.api import Api, quote
from danlu.transfer.carrier import body_of

PIECE_BYTES = 4 << 20
MAX_STANDSTILLS = 3


def announce(api: Api, header: dict[str, Any]) -> dict[str, Any]:
    """Tell the server of a run; the same one again changes nothing. Return what it knows of it."""
    answer = api.post("/runs", header)
    return answer if isinstance(answer, dict) else {}


def read_run_header(descriptor: int) -> Optional[dict[str, Any]]:
    """The first frame of a journal; None when it is not whole yet."""
    data = os.pread(descriptor, FILE_HEADER_BYTES + MAX_PAYLOAD_BYTES + 64, 0)
    first = next(iter(scan(data).frames), None)
    return decode_json(first) if first is not None and first.kind == Kind.RUN else None


def move(api: Api, run_id: str, *, folder: str, make_folder: bool) -> None:
    """Put a run that the server knows into another of its folders."""
    api.ask("PATCH", f"/runs/{quote(run_id)}", {"folder": folder, "make_folder": make_folder})


def send_journal(api: Api, run_id: str, path: str) -> int:
    """Send what the server lacks of one file. Return how many bytes were sent.

    Raise Refused when the server says no, and ServerAway when it does not answer; sending again goes on there.
    """
    with open(path, "rb") as file:
        return send_open(api, run_id, file.fileno())


def send_open(api: Api, run_id: str, descriptor: int) -> int:
    """As `send_journal`, for a file that is open already."""
    head = os.pread(descriptor, FILE_HEADER_BYTES, 0)
    try:
        url = f"/runs/{quote(run_id)}/journals/{read_file_header(head).journal_id}"
    except BadJournal:
        return 0  # it has not been begun, or is something else
    offset = int(api.get(url)["offset"])
    num_sent, standstills = 0, 0
    while standstills < MAX_STANDSTILLS:
        data = _whole_frames(descriptor, offset)
        if not data:
            break
        has = int(api.send("PUT", f"{url}?offset={offset}", body_of(data))["offset"])
        # another process may have sent the same bytes meanwhile, or the server lost bytes that it had not confirmed
        standstills = standstills + 1 if has <= offset else 0
        num_sent += max(0, has - offset)
        offset = has
    return num_sent


def _whole_frames(descriptor: int, offset: int) -> bytes:
    data = os.pread(descriptor, PIECE_BYTES, offset)
    end = piece(data, 0, PIECE_BYTES) if offset == 0 else scan(data, 0).end
    return data[:end]
