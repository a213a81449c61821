"""Upload the runs of a folder. Idempotent, also when several processes do it."""

from __future__ import annotations

import os
import time
from typing import Any, Callable, NamedTuple, Optional

from danlu import journal
from danlu.content.drafts import FOLDER as ARTIFACTS
from danlu.content.drafts import find_drafts, read_draft
from danlu.track.folders import find_runs
from danlu.track.processes import Process, from_header, is_gone
from danlu.track.reading import JournalFile, open_journals
from danlu.track.termination import read_trace
from danlu.transfer.api import Api as Api  # noqa: PLC0414 (for those who sync)
from danlu.transfer.artifact_folders import SentArtifact, send_folder
from danlu.transfer.errors import Refused
from danlu.transfer.errors import ServerAway as ServerAway  # noqa: PLC0414 (for those who sync)
from danlu.transfer.journals import announce, move, send_journal

SyncedArtifact = SentArtifact
DIED = "the process ended unexpectedly: it was killed, or its machine went down"


class Synced(NamedTuple):
    """Outcome of one run."""

    folder: str
    run_id: str
    name: str
    num_bytes: int
    """Bytes sent now; 0 when the server had everything."""

    problem: str
    """Why it is not completely on the server; empty when it is."""

    is_skipped: bool = False
    """Whether it was skipped, because the folder has a run of that name and `conflict` is `skip`."""


class Wish(NamedTuple):
    """Options of an upload that a sync does not have."""

    folder: Optional[str] = None
    make_folder: bool = False
    conflict: str = "new"


def sync_all(api: Api, folder: str) -> list[Synced]:
    """Sync every run at or below a folder. A rejected run does not stop the others.

    Raises ServerAway when the server cannot be reached.
    """
    return [done for one in find_runs(folder) if (done := sync_run(api, one)) is not None]


def sync_run(api: Api, folder: str, wish: Optional[Wish] = None) -> Optional[Synced]:
    """Sync one run; None when no journal in its folder has a complete first frame."""
    files = open_journals(folder)
    if not files:
        return None
    dead = note_death(folder, files)
    header = files[0].header
    run_id, name = str(header["run"]), str(header.get("name"))
    num_bytes = 0
    try:
        known = announce(api, _announcement(header, wish))
        if known.get("id", run_id) != run_id:
            return Synced(folder, run_id, name, 0, "", is_skipped=True)
        if wish is not None and wish.folder is not None and known.get("folder", wish.folder) != wish.folder.strip("/"):
            move(api, run_id, folder=wish.folder, make_folder=wish.make_folder)
        for one in [*(file.path for file in files), *([dead] if dead else [])]:
            num_bytes += send_journal(api, run_id, one)
    except Refused as refused:
        return Synced(folder, run_id, name, num_bytes, refused.message)
    return Synced(folder, run_id, name, num_bytes, "")


def sync_artifact(
    api: Api, folder: str, *, moved: Callable[[str, int], None] = lambda _file, _size: None
) -> Optional[SyncedArtifact]:
    """Sync one artifact; None when its folder has no record, or another process is sending it. Raises ServerAway."""
    return send_folder(api, folder, told=lambda file, size, _: moved(file, size))


def sync_artifacts_of(api: Api, run: Synced) -> str:
    """Sync the artifacts that a run has read or produced; return why one is not on the server, or ""."""
    problem = ""
    waiting: set[str] = set()
    for folder in find_drafts(os.path.join(os.path.dirname(os.path.abspath(run.folder)), ARTIFACTS)):
        draft = read_draft(folder)
        if draft is None or not draft.is_sealed or run.run_id not in [link.run for link in draft.links]:
            continue
        if str(draft.header.get("name")) in waiting:
            continue  # versions are numbered in order
        done = sync_artifact(api, folder)
        if done is not None and done.problem:
            problem = f"artifact {done.name}: {done.problem}"
            if done.is_temporary:
                waiting.add(done.name)
    return problem


def note_death(folder: str, files: list[JournalFile]) -> Optional[str]:
    """Record that the newest process of the run died, if that is certain and new. Return the new journal."""
    newest = [one for one in files if one.header.get("writer") == "process"][-1:]
    if not newest:
        return None
    branch = newest[0].header.get("branch")
    ends = [one for one in files if one.header.get("branch") == branch and one.has_end()]
    process = from_header(newest[0].header)
    if ends or process is None or not is_gone(process):
        return None
    return write_death(folder, newest[0].header, newest[0].journal_id)


def how_it_ended(folder: str, process: Process) -> tuple[str, str]:
    """Return state and reason of a process that has ended without recording its end."""
    told = read_trace(folder, process)
    return ("stopped", told) if told is not None else ("died", DIED)


def write_death(folder: str, header: dict[str, Any], of_journal: str) -> Optional[str]:
    """Write a journal that only says that the process died. If several processes notice it, only one succeeds."""
    path = os.path.join(folder, f"died-{of_journal}.journal")
    process = from_header(header)
    state, reason = how_it_ended(folder, process) if process is not None else ("died", DIED)
    now = time.time()
    data = b"".join(
        [
            journal.file_header(journal.new_journal_id()),
            journal.encode_run({**header, "writer": "companion", "created_at": now}),
            journal.encode_finish(state, time=now, reason=reason),
        ]
    )
    partial = f"{path}.{os.getpid()}.partial"
    try:
        with open(partial, "wb") as file:
            file.write(data)
        os.link(partial, path)  # appears complete, and only once
    except FileExistsError:
        return None
    except OSError:
        return None  # a read-only folder can still be synced; the server notices the missing heartbeat
    finally:
        if os.path.exists(partial):
            os.unlink(partial)
    return path


def _announcement(header: dict[str, Any], wish: Optional[Wish]) -> dict[str, Any]:
    if wish is None:
        return header
    asked: dict[str, Any] = {"make_folder": wish.make_folder, "conflict": wish.conflict}
    return {**header, **({"folder": wish.folder} if wish.folder is not None else {}), **asked}
