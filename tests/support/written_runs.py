"""What a script wrote of a run, as its files have it. The companion may have written a journal of its own beside it."""

from __future__ import annotations

from danlu import track
from danlu.track.reading import JournalFile, Point, open_journals, points


def own_journals(folder: str) -> list[JournalFile]:
    return [one for one in open_journals(folder) if one.header["writer"] == "process"]


def own_journal(folder: str) -> JournalFile:
    """The only one."""
    (one,) = own_journals(folder)
    return one


def logged(run: track.Run) -> list[Point]:
    """All points, also those that wait to be written."""
    run.flush()
    return [point for one in own_journals(run.path) for point in points(one)]
