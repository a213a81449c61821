"""Brings artifacts from their folders on this machine to the server, any number of times: the end is the same."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple, Optional, Protocol

from danlu.content.discarding import discard
from danlu.content.drafts import FILES, RECORD, Draft, Link, add_line, read_draft
from danlu.transfer.api import Api
from danlu.transfer.artifact_upload import ArtifactUpload, Source, send_artifact
from danlu.transfer.errors import Changed, Damaged, LocalProblem, Refused
from danlu.transfer.journals import announce, read_run_header
from danlu.transfer.local_files import open_file, try_lock
from danlu.transfer.progress import Told, quiet

JOURNAL = ".journal"


class DraftFolder(Protocol):
    """Where an artifact lies, and how its files may be read and its record be written there."""

    path: str

    def open(self, path: str) -> AbstractContextManager[int]:
        """Open one of its files for reading."""

    def note(self, line: dict[str, Any]) -> None:
        """Remember a line that belongs into the record: `uploaded`, and `linked` for every run."""

    def find_run(self, link: Link) -> Optional[dict[str, Any]]:
        """The header of a run that the server does not know yet, if it is here."""


class SentArtifact(NamedTuple):
    """What became of one artifact."""

    folder: str
    artifact_id: str
    name: str
    version: Optional[int]
    num_bytes: int
    """Sent now."""

    problem: str
    """Why it is not, or not wholly, on the server; empty when it is."""

    is_skipped: bool = False
    is_temporary: bool = False
    """Whether the problem may be gone later: the server is busy, or has no room."""


def send_folder(api: Api, folder: str, *, told: Told = quiet) -> Optional[SentArtifact]:
    """Send one artifact; None when the folder has no record, or another process sends it. Raise ServerAway.

    Copies of files are removed once the server has them.
    """
    draft = read_draft(folder)
    if draft is None:
        return None
    sent = SentArtifact(folder, draft.id, str(draft.header.get("name")), _version(draft), 0, "")
    if not draft.is_sealed:
        return sent._replace(problem=f"{draft.why_unfinished}; its files are kept here")
    if draft.is_done:
        return sent
    with _alone(folder) as is_alone:
        draft = read_draft(folder) if is_alone else None  # another process may have sent it a moment ago
        if draft is None:
            return None
        try:
            return send_draft(api, draft, folder=OwnFolder(folder), told=told)
        except Refused as refused:
            sent = sent._replace(problem=refused.message, is_temporary=refused.is_temporary)
        except (Changed, Damaged, LocalProblem, ValueError, TypeError) as error:
            sent = sent._replace(problem=str(error))
        return sent


class OwnFolder:
    """A folder that no other process writes to. Copies of files are removed once the server has them."""

    def __init__(self, path: str) -> None:
        self.path = path

    def open(self, path: str) -> AbstractContextManager[int]:
        return open_file(path)

    def note(self, line: dict[str, Any]) -> None:
        add_line(self.path, line)
        if "uploaded" in line:
            discard(os.path.join(self.path, FILES))

    def find_run(self, link: Link) -> Optional[dict[str, Any]]:
        try:
            names = sorted(name for name in os.listdir(link.folder) if name.endswith(JOURNAL)) if link.folder else []
        except OSError:
            return None
        for name in names:
            with open(os.path.join(link.folder, name), "rb") as file:
                header = read_run_header(file.fileno())
            if header is not None:
                return header
        return None


def send_draft(api: Api, draft: Draft, *, folder: DraftFolder, told: Told = quiet) -> SentArtifact:
    """Send what the server has not got of an artifact: its files, and the runs that it is linked with.

    Raises as `send_artifact` does.
    """
    name, num_bytes = str(draft.header.get("name")), 0
    if draft.uploaded is None:
        sent = send_artifact(api, _upload_of(draft, folder.path), told=told, opened=folder.open)
        if sent.is_skipped or sent.version is None:
            return SentArtifact(folder.path, draft.id, name, None, 0, "", is_skipped=True)
        uploaded = {"version": sent.version["version"], "name": sent.version["name"], "at": time.time()}
        folder.note({"uploaded": uploaded})
        num_bytes, draft = sent.sent_bytes, draft._replace(uploaded=uploaded)
    for link in draft.links:
        if link not in draft.linked:
            _link(api, draft.id, link, folder)
            folder.note({"linked": link._asdict()})
    return SentArtifact(folder.path, draft.id, name, _version(draft), num_bytes, "")


def _upload_of(draft: Draft, folder: str) -> ArtifactUpload:
    begin = {"artifact": draft.id, "name": draft.header.get("name"), "project": draft.header.get("project")}
    about = {**draft.about, "created_at": draft.header.get("created_at")}
    sources = [Source(path, os.path.join(folder, FILES, *path.split("/")), size) for path, size in draft.files.items()]
    return ArtifactUpload(begin, about, sources, list(draft.references.values()), draft.folders)


def _link(api: Api, artifact_id: str, link: Link, folder: DraftFolder) -> None:
    """Note a run in the data flow. A run that the server does not know yet is announced, if it is here."""
    body = {"run": link.run, "kind": link.kind}
    path = f"/artifacts/versions/{artifact_id}/links"
    try:
        api.post(path, body)
    except Refused as refused:
        header = folder.find_run(link) if refused.status == 404 else None
        if header is None:
            raise
        announce(api, header)
        api.post(path, body)


@contextmanager
def _alone(folder: str) -> Iterator[bool]:
    """Try to be the only one on this machine who sends this artifact; False when another one is at it."""
    with open(os.path.join(folder, RECORD), "rb") as file:
        yield try_lock(file.fileno())


def _version(draft: Draft) -> Optional[int]:
    return None if draft.uploaded is None else int(draft.uploaded["version"])
