"""Reading what mirrors wrote, and a start without runs of other tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from danlu import journal
from danlu.journal import Kind
from danlu.track import ending
from danlu.track.folders import find_runs
from danlu.track.reading import open_journals, points


@pytest.fixture(autouse=True)
def no_run_goes_on() -> None:
    """What other tests have left unfinished would get what is heard here."""
    while (run := ending.newest()) is not None:
        run.finish()


def logged(folder: str) -> dict[tuple[str, str], list[tuple[int, float]]]:
    """Steps and values per series."""
    found: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for one in open_journals(folder):
        for point in points(one):
            if point.type != "system":
                found.setdefault((point.type, point.name), []).append((point.step, point.value))
    return found


def ends(folder: Path) -> dict[str, tuple[str, str]]:
    """Name of each run -> state and reason of its last end."""
    found = {}
    for run in find_runs(str(folder)):
        for one in open_journals(run):
            frames = [frame for frame in journal.scan(one.data).frames if frame.kind == Kind.FINISH]
            if one.header["writer"] == "process":
                said = journal.decode_json(frames[-1]) if frames else {"state": "running", "reason": ""}
                found[str(one.header["name"])] = (said["state"], said["reason"])
    return found


def printed(folder: str) -> bytes:
    frames = [frame for one in open_journals(folder) for frame in journal.scan(one.data).frames]
    return b"".join(journal.decode_output(frame).data for frame in frames if frame.kind == Kind.OUTPUT)
