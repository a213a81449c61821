"""Upload runs in the old layout: write new content of the files to a journal, and sync journals with the server."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from pathlib import Path
from typing import Any, Callable, Optional

from danlu import journal
from danlu.track.folders import RUN_ID, journals_in
from danlu.track.values import MAX_NAME, MAX_TEXT, to_plain, type_word
from danlu.track.warn import warn_once
from danlu.transfer.api import Api
from danlu.transfer.errors import Refused, ServerAway
from danlu.transfer.journals import announce, send_journal
from t9k.em import files, remote
from t9k.em.errors import CannotConnect, NoFolder, cannot_connect
from t9k.em.plain_yaml import is_record
from t9k.em.upload_artifact import check_strategy, connect_artifacts, folder_in, upload_artifact

STATES = {"Complete": "finished", "Error": "failed"}
KEPT = ".danlu"
MAX_ROWS = 5000
MAX_OUTPUT_FRAMES = 1000
"""Limit of an upload, in frames of half a megabyte; the next upload continues there."""

MAX_NAMES = 1000
"""Metrics per layout, so that their names fit into a frame."""

MAX_LABELS = 100
MAX_PROBLEM = 1000
MAX_ENVIRONMENT_BYTES = 512 << 10


def upload(path: str, folder: str = "default", make_folder: bool = False, conflict_strategy: str = "new") -> None:
    """Upload the run or artifact at a path, or all directly in it or in its `runs` and `artifacts` folders."""
    check_strategy(conflict_strategy)
    found, made = files.find(Path(path)), files.find(Path(path), "Artifact")
    if not found and not made:
        raise RuntimeError("No Run/Artifact is to be uploaded")
    failed: list[str] = []

    def attempt(one: Path, bring: Callable[[Path], None]) -> None:
        """Upload one item. Continue with the others if it fails, unless they would fail for the same reason."""
        try:
            bring(one)
        except (CannotConnect, NoFolder):
            raise
        except Exception as error:  # whatever is in its files
            text = str(error) if isinstance(error, (RuntimeError, OSError)) else repr(error)
            failed.append(f"{one.name}: {text[:MAX_PROBLEM]}")
            if len(found) + len(made) == 1:
                raise

    def bring_run(one: Path) -> None:
        read = files.load_what_there_is(one)
        done = upload_run(one, folder, make_folder, conflict_strategy, read)
        if done is not None:
            files.write(one / files.METADATA, {**read.metadata, "remote": [*files.notes(read.metadata), done]})
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
    check_strategy(conflict_strategy)
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
            raise NoFolder(f"Folder does not exist: '{folder}'") from refused
        raise RuntimeError(refused.message) from refused
    except ServerAway as error:
        raise cannot_connect(f"{session.host} does not answer: {error}") from error
    connect_artifacts(run, header["run"], where)
    at = f"/{session.user}/{where}/{found.metadata['name']}"
    return {"action": "upload", "timestamp": files.now(), "host": session.host, "id": header["run"], "path": at}


def _header(found: files.Loaded) -> dict[str, Any]:
    metadata = found.metadata
    began, labels = files.moment(metadata.get("startTimestamp")), metadata.get("labels")
    return {
        "run": _known_id(metadata) or _run_id(str(metadata["alternativeName"]), str(metadata.get("startTimestamp"))),
        "name": str(metadata["name"])[:MAX_NAME],
        "created_at": 0.0 if began is None else max(0.0, began.timestamp()),
        "labels": [str(label)[:MAX_NAME] for label in labels[:MAX_LABELS]] if isinstance(labels, list) else [],
        "description": str(metadata.get("description") or "")[:MAX_TEXT],
        "branch": 1,
        "rank": 0,
        "writer": "process",
        "environment": _environment(found),
    }


def _environment(found: files.Loaded) -> dict[str, Any]:
    """Return what fits into the first frame of a journal."""
    environment: dict[str, Any] = to_plain({"platform": found.platform, "git": found.git})
    if len(json.dumps(environment)) <= MAX_ENVIRONMENT_BYTES:
        return environment
    name = str(found.metadata["name"])[:MAX_NAME]
    warn_once(f"em {name} environment", f"{name}: {files.PLATFORM} and {files.GIT} are left out: more than 512 KiB")
    return {}


def _known_id(metadata: dict[str, Any]) -> Optional[str]:
    """Return the id of a run that was fetched, so that it continues as the same one."""
    ids = (str(one.get("id")) for one in files.notes(metadata) if one.get("action") == "download")
    return next((id for id in ids if RUN_ID.fullmatch(id)), None)


def _run_id(own_name: str, began: str) -> str:
    """Return an id that is the same for every copy of the folder."""
    digest = hashlib.sha256(json.dumps([own_name, began]).encode()).digest()
    return "run-" + base64.b32encode(digest[:16]).decode().rstrip("=").lower()


def _write_new(run: Path, header: dict[str, Any], found: files.Loaded) -> None:
    """Write a journal of everything in the files that is not in earlier journals."""
    kept = run / KEPT
    if kept.is_symlink():
        raise files.Unreadable(f"{kept} is a link; nothing is written to other places")
    kept.mkdir(exist_ok=True)
    state_path = kept / "imported.json"
    state = _state_of(state_path)
    counts: dict[str, int] = state.get("metrics", {})
    hparams: dict[str, Any] = to_plain(found.hparams)
    new: dict[str, Any] = {"metrics": {}, "hparams": hparams, "status": str(found.metadata.get("status"))}
    frames = [journal.encode_run(header)]
    for number, (type, records) in enumerate(sorted(found.metrics.items())):
        frames += _points(number * MAX_ROWS, type, records[counts.get(type, 0) :])
        new["metrics"][type] = len(records)
    if hparams != state.get("hparams"):
        gone = [name for name in state.get("hparams") or () if name not in hparams]
        made, lost = journal.encode_sets(
            "hparams", hparams, room=journal.Room(), remove=gone, time=header["created_at"]
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
    _put(state_path, json.dumps(new).encode())


def _state_of(path: Path) -> dict[str, Any]:
    """Return what earlier uploads have written. Raises Unreadable when that is not known: it would be stored twice."""
    if not os.path.lexists(path):
        return {}
    try:
        state = json.loads(files.own_file(path.parent, path.name).read_text())
        counts = [*state.get("metrics", {}).values(), state.get("stdout", 0)]
        if all(type(count) is int and count >= 0 for count in counts) and isinstance(state.get("hparams", {}), dict):
            return dict(state)
    except (ValueError, AttributeError, RecursionError):
        pass
    raise files.Unreadable(f"{path} cannot be read; without the folder {path.parent} the run is uploaded as a whole")


def _printed(path: Path, begin: int, time: float) -> tuple[list[bytes], int]:
    """Return frames of the output from byte `begin` on, and the offset of their end."""
    frames: list[bytes] = []
    if not os.path.lexists(path):
        return frames, begin
    with files.own_file(path.parent, path.name).open("rb") as file:
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
        if not is_record(record):  # of a run of this process; those that are read from files were checked
            warn_once(f"em {type}", f"metrics of {type!r:.100} are left out: step {record['sequence']['step']!r:.40}")
            continue
        at, pairs = record["sequence"], list(record["value"].items())
        when, epoch = files.moment(at.get("timestamp")), at.get("epoch")
        head = (
            int(at["step"]),
            0.0 if when is None else max(0.0, when.timestamp()),
            float("nan") if epoch is None else float(epoch),
        )
        for first in range(0, len(pairs), MAX_NAMES):
            part = pairs[first : first + MAX_NAMES]
            names = tuple(str(name)[:MAX_NAME] for name, _ in part)
            if names not in layouts:
                if len(layouts) >= MAX_ROWS:  # the numbers after these are those of the next type
                    raise files.Unreadable(f"metrics of {type!r:.100} have more than {MAX_ROWS} sets of names")
                layouts[names] = first_layout + len(layouts) + 1
                frames.append(journal.encode_layout(journal.Layout(layouts[names], type_word(type), names)))
            row = journal.row_struct(len(names)).pack(*head, *(float(value) for _, value in part))
            frames.append(journal.encode_points(layouts[names], [row]))
    return frames


def _put(path: Path, data: bytes) -> None:
    partial = path.with_name(f".partial.{os.getpid()}.{path.name}")
    partial.write_bytes(data)
    partial.replace(path)
