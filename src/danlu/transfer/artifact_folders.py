"""Brings artifacts from their folders on this machine to the server, any number of times: the end is the same."""

from __future__ import annotations

import json
import os
import shutil
import time
from typing import Any, NamedTuple, Optional

from danlu.content.drafts import FILES, Draft, Link, add_line, alone, read_draft
from danlu.transfer.artifact_upload import Opener, Sent, Source, open_file, send_artifact
from danlu.transfer.carrier import Told, quiet
from danlu.transfer.http import Refused, Server
from danlu.transfer.journals import announce, read_run_header

JOURNAL = ".journal"


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


class ServerCarrier:
    """A connection of the standard library, for those who send artifacts."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def ask(self, method: str, path: str, values: Any = None) -> Any:
        return json.loads(self.fetch(method, path, values))

    def send(self, path: str, data: bytes) -> Any:
        headers = {"Content-Length": str(len(data)), "Content-Type": "application/octet-stream"}
        with self._server.open("POST", path, body=[data], headers=headers) as answer:
            return json.loads(answer.read())

    def fetch(self, method: str, path: str, values: Optional[Any] = None) -> bytes:
        body = b"" if values is None else json.dumps(values).encode()
        headers = {"Content-Length": str(len(body)), "Content-Type": "application/json"}
        with self._server.open(method, path, body=[body] if body else None, headers=headers if body else {}) as answer:
            return bytes(answer.read())

    def rest(self) -> None:
        self._server.drop()


def send_folder(
    server: Server,
    folder: str,
    *,
    begin: Optional[dict[str, Any]] = None,
    told: Told = quiet,
    keeps_files: bool = False,
) -> Optional[SentArtifact]:
    """Send one artifact; None when the folder has no record, or somebody else is at it.

    `begin` is added to the first request. Raise Refused when the server says no, and OSError, HTTPException when it is
    away. Copies of files are removed once the server has them, unless they are to be kept.
    """
    draft = read_draft(folder)
    if draft is None:
        return None
    name = str(draft.header.get("name"))
    if not draft.is_sealed:
        return SentArtifact(folder, draft.id, name, None, 0, "it was begun and not finished; its files are kept here")
    if draft.is_done:
        return SentArtifact(folder, draft.id, name, _version(draft), 0, "")
    with alone(folder) as is_alone:
        draft = read_draft(folder) if is_alone else None  # somebody may have finished it a moment ago
        if draft is None:
            return None
        num_bytes = 0
        if draft.uploaded is None:
            sent = upload(server, folder, draft, begin=begin, told=told)
            if sent.is_skipped or sent.version is None:
                return SentArtifact(folder, draft.id, name, None, 0, "", is_skipped=True)
            known = {"version": sent.version["version"], "name": sent.version["name"], "at": time.time()}
            add_line(folder, {"uploaded": known})
            num_bytes, draft = sent.sent_bytes, draft._replace(uploaded=known)
        if not keeps_files:
            shutil.rmtree(os.path.join(folder, FILES), ignore_errors=True)
        for link in draft.links:
            if link not in draft.linked:
                _link(server, draft.id, link)
                add_line(folder, {"linked": link._asdict()})
    return SentArtifact(folder, draft.id, name, _version(draft), num_bytes, "")


def upload(
    server: Server,
    folder: str,
    draft: Draft,
    *,
    begin: Optional[dict[str, Any]] = None,
    told: Told = quiet,
    opened: Opener = open_file,
) -> Sent:
    """Send the files of a draft, and make a version of them. Nothing is written here."""
    header = draft.header
    asked = {"artifact": draft.id, "name": header.get("name"), "project": header.get("project"), **(begin or {})}
    about = {**draft.about, "created_at": header.get("created_at")}
    sources = [Source(path, os.path.join(folder, FILES, *path.split("/"))) for path in draft.files]
    references = list(draft.references.values())
    return send_artifact(ServerCarrier(server), asked, about, sources, references, told=told, opened=opened)


def _link(server: Server, artifact_id: str, link: Link) -> None:
    """Note a run in the data flow. A run that the server does not know yet is announced, if it is here."""
    body = {"run": link.run, "kind": link.kind}
    path = f"/artifacts/versions/{artifact_id}/links"
    try:
        server.post_json(path, body)
    except Refused as refused:
        header = _run_header(link.folder) if refused.status == 404 else None
        if header is None:
            raise
        announce(server, header)
        server.post_json(path, body)


def _run_header(folder: str) -> Optional[dict[str, Any]]:
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(JOURNAL)) if folder else []
    except OSError:
        return None
    for name in names:
        with open(os.path.join(folder, name), "rb") as file:
            header = read_run_header(file.fileno())
        if header is not None:
            return header
    return None


def _version(draft: Draft) -> Optional[int]:
    return None if draft.uploaded is None else int(draft.uploaded["version"])
