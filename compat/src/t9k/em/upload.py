"""Upload runs in the old layout: write new content of the files to a journal, and sync journals with the server."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from pathlib import Path
from typing import Any, Callable, Optional

from danlu import journal
from danlu.track.folders import journals_in
from danlu.track.values import to_plain, type_word
from danlu.track.warn import warn_once
from danlu.transfer.api import Api
from danlu.transfer.errors import Refused, ServerAway
from danlu.transfer.journals import announce, send_journal
from t9k.em import files, remote
from t9k.em.errors import CannotConnect, cannot_connect
from t9k.em.upload_artifact import STRATEGIES, connect_artifacts, folder_in, upload_artifact

STATES = {"Complete": "finished", "Error": "failed"}
KEPT = ".danlu"
MAX_ROWS = 5000
MAX_OUTPUT_FRAMES = 1000
"""Limit of an upload, in frames of half a megabyte; the next upload continues there."""


def upload(path: str, folder: str = "default", make_folder: bool = False, conflict_strategy: str = "new") -> None:
    """Upload the run or artifact at a path, or all directly in it or in its `runs` and `artifacts` folders."""
    found, made = files.find(Path(path)), files.find(Path(path), "Artifact")
    if not found and not made:
        raise RuntimeError("No Run/Artifact is to be uploaded")
    failed: list[str] = []

    def attempt(one: Path, bring: Callable[[Path], None]) -> None:
        """Upload one item. Continue with the others if it fails, unless the server does not answer."""
        try:
            bring(one)
        except CannotConnect:
            raise
        except (RuntimeError, OSError) as error:
            failed.append(f"{one.name}: {error}")
            if len(found) + len(made) == 1:
                raise

    def bring_run(one: Path) -> None:
        read = files.load_what_there_is(one)
        done = upload_run(one, folder, make_folder, conflict_strategy, read)
        if done is not None:
            noted = [*(read.metadata.get("remote") or []), done]
            files.write(one / files.METADATA, {**read.metadata, "remote": noted})
        failed.extend(f"{one.name} is there, but {problem}" for problem in read.problems)

    def bring_artifact(one: Path) -> None:
        upload_artifact(one, folder, make_folder, conflict_strategy)

    for one in made:  # first, so that they get the requested folder instead of being uploaded by a run
        attempt(one, bring_artifact)
    for one in found:
        attempt(one, bring_run)
    if failed:
        told = f"{len(failed)} problems with {len(found)} Runs and {len(made)} Artifacts; the others are uploaded"
        raise RuntimeError("\n  ".join([told, *failed]))


def upload_run(
    run: Path, folder: Optional[str], make_folder: bool, conflict_strategy: str, found: files.Loaded
) -> Optional[dict[str, Any]]:
    """Upload one run. Returns the entry for `remote` in its metadata; None if it was skipped."""
    if conflict_strategy not in STRATEGIES:
        raise ValueError(f"conflict_strategy is {conflict_strategy!r}; known: {', '.join(STRATEGIES)}")
    where = folder_in(folder)
    session = remote.session()
    header = _header(found)
    _write_new(run, header, found)
    asked = {
        "folder": where,
        "make_folder": make_folder or where == "default",
        "conflict": conflict_strategy,
    }
    try:
        known = _announce(session.api, {**header, **asked}, str(found.metadata["alternativeName"]))
        if known.get("id", header["run"]) != header["run"]:
            return None
        for path in journals_in(str(run / KEPT)):
            send_journal(session.api, header["run"], path)
    except Refused as refused:
        if "folder" in refused.message and refused.status == 422:
            raise ValueError(f"Folder does not exist: '{folder}'") from refused
        raise RuntimeError(refused.message) from refused
    except ServerAway as error:
        raise cannot_connect(f"{session.host} does not answer: {error}") from error
    connect_artifacts(run, header["run"], where)
    at = f"/{session.user}/{where}/{found.metadata['name']}"
    return {"action": "upload", "timestamp": files.now(), "host": session.host, "id": header["run"], "path": at}


def _header(found: files.Loaded) -> dict[str, Any]:
    metadata = found.metadata
    began = files.moment(metadata.get("startTimestamp"))
    return {
        "run": _known_id(metadata) or _run_id(str(metadata["alternativeName"]), str(metadata.get("startTimestamp"))),
        "name": str(metadata["name"]),
        "created_at": began.timestamp() if began is not None else 0.0,
        "labels": [str(label) for label in metadata.get("labels") or ()],
        "description": str(metadata.get("description") or ""),
        "branch": 1,
        "rank": 0,
        "writer": "process",
        "environment": to_plain({"platform": found.platform, "git": found.git}),
    }


def _known_id(metadata: dict[str, Any]) -> Optional[str]:
    """Return the id of a run that was fetched, so that it continues as the same one."""
    notes = metadata.get("remote") or []
    return next((str(one["id"]) for one in notes if one.get("action") == "download"), None)


def _run_id(own_name: str, began: str) -> str:
    """Return an id that is the same for every copy of the folder."""
    digest = hashlib.sha256(json.dumps([own_name, began]).encode()).digest()
    return "run-" + base64.b32encode(digest[:16]).decode().rstrip("=").lower()


def _write_new(run: Path, header: dict[str, Any], found: files.Loaded) -> None:
    """Write a journal of everything in the files that is not in earlier journals."""
    kept = run / KEPT
    kept.mkdir(exist_ok=True)
    state_path = kept / "imported.json"
    state: dict[str, Any] = json.loads(state_path.read_text()) if state_path.exists() else {}
    counts: dict[str, int] = state.get("metrics", {})
    new: dict[str, Any] = {"metrics": {}, "hparams": found.hparams, "status": found.metadata.get("status")}
    frames = [journal.encode_run(header)]
    for number, (type, records) in enumerate(sorted(found.metrics.items())):
        frames += _points(number * MAX_ROWS, type, records[counts.get(type, 0) :])
        new["metrics"][type] = len(records)
    if found.hparams != state.get("hparams"):
        gone = [name for name in state.get("hparams") or () if name not in found.hparams]
        made, lost = journal.encode_sets(
            "hparams", to_plain(found.hparams), room=journal.Room(), remove=gone, time=header["created_at"]
        )
        frames += made
        if lost:
            warn_once(f"em {run.name} hparams", f"{run.name}: hyperparameters of more than 1 MiB are left out: {lost}")
    printed, new["stdout"] = _printed(run / files.STDOUT, int(state.get("stdout", 0)), header["created_at"])
    frames += printed
    if new["status"] in STATES and new["status"] != state.get("status"):
        ended = files.moment(found.metadata.get("endTimestamp"))
        time = ended.timestamp() if ended is not None else header["created_at"]
        frames.append(journal.encode_finish(STATES[new["status"]], time=time))
    if len(frames) == 1 and state:
        return
    body = b"".join(frames)
    # derived from the content: a copy of the folder elsewhere gives the same journal, so nothing is stored twice
    journal_id = hashlib.sha256(body).hexdigest()[:32]
    _put(kept / f"{journal_id}.journal", journal.file_header(journal_id) + body)
    _put(state_path, json.dumps(to_plain(new)).encode())


def _printed(path: Path, begin: int, time: float) -> tuple[list[bytes], int]:
    """Return frames of the output from byte `begin` on, and the offset of their end."""
    frames: list[bytes] = []
    if not path.exists():
        return frames, begin
    with path.open("rb") as file:
        file.seek(begin)
        while len(frames) < MAX_OUTPUT_FRAMES and (data := file.read(journal.MAX_PAYLOAD_BYTES // 2)):
            frames.append(journal.encode_output(1, time, data))
            begin += len(data)
    return frames, begin


def _announce(api: Api, header: dict[str, Any], own_name: str) -> dict[str, Any]:
    """Announce the run to the server. With `new`, a run whose name is taken in the folder gets its alternative name."""
    if header["conflict"] != "new":
        return announce(api, header)
    try:
        return announce(api, {**header, "conflict": "error"})
    except Refused as refused:
        if refused.error != "AlreadyExists":
            raise
        return announce(api, {**header, "name": own_name})


def _points(first_layout: int, type: str, records: list[dict[str, Any]]) -> list[bytes]:
    """Return the frames of a file's records; rows with the same names share a layout."""
    layouts: dict[tuple[str, ...], int] = {}
    frames: list[bytes] = []
    for record in records:
        values, at = record.get("value") or {}, record.get("sequence") or {}
        names = tuple(str(name) for name in values)
        if names not in layouts:
            layouts[names] = first_layout + len(layouts) + 1
            frames.append(journal.encode_layout(journal.Layout(layouts[names], type_word(type), names)))
        when, epoch = files.moment(at.get("timestamp")), at.get("epoch")
        row = journal.row_struct(len(names)).pack(
            int(at.get("step") or 0),
            when.timestamp() if when is not None else 0.0,
            float("nan") if epoch is None else float(epoch),
            *(float(value) for value in values.values()),
        )
        frames.append(journal.encode_points(layouts[names], [row]))
    return frames


def _put(path: Path, data: bytes) -> None:
    partial = path.with_name(f".partial.{os.getpid()}.{path.name}")
    partial.write_bytes(data)
    partial.replace(path)
