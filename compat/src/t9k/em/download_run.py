"""Convert a run on a Danlu server to the old layout, so that `load_run` can continue it."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import urllib.parse
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from danlu.transfer.errors import Refused, ServerAway
from t9k.em import files, remote
from t9k.em.errors import NotARun, cannot_connect
from t9k.em.remote import Session
from t9k.em.upload import KEPT, STATES
from t9k.em.upload_artifact import folder_in

STATUS = {state: status for status, state in STATES.items()}
"""All other states are shown as running, or as running when last seen."""


def download_run(path: str) -> Path:
    """Fetch the newest run of `/<user>/<folder>/<name>` into the folder for runs; return its path."""
    try:
        session = remote.session()
    except RuntimeError:
        raise NotARun(f"Not a local directory: '{path}'") from None
    folder, _, name = path.rstrip("/").rpartition("/")
    if not files.NAME.match(name):
        raise NotARun(f"Not a local directory or a remote path: '{path}'")
    try:
        about = _find(session, folder_in(folder), name, path)
        points = session.api.fetch("GET", f"/runs/{about['id']}/export?format=csv").decode()
    except Refused as refused:
        raise NotARun(refused.message) from refused
    except ServerAway as error:
        raise cannot_connect(f"{session.host} does not answer: {error}") from error
    return _write(about, _records(points), session)


def _find(session: Session, folder: str, name: str, path: str) -> dict[str, Any]:
    query = {"folder": folder, "below": "false", "filter": f"name = '{name}'", "limit": "1"}
    found = session.api.get(f"/runs?{urllib.parse.urlencode(query)}")["items"]
    if not found:
        raise NotARun(f"Not a local directory or a remote path: '{path}'")
    about: dict[str, Any] = session.api.get(f"/runs/{found[0]['id']}")
    return about


def _records(points: str) -> dict[str, list[dict[str, Any]]]:
    """Return records by type, in the order of steps; values with the same time are joined into one record."""
    found: dict[str, dict[tuple[str, str, str], dict[str, float]]] = {}
    for row in csv.DictReader(io.StringIO(points)):
        if row["type"] != "system" and row["is_hidden"] == "0":
            at = (row["step"], row["epoch"], row["time"])
            found.setdefault(row["type"], {}).setdefault(at, {})[row["name"]] = float(row["value"])
    return {type: [_record(*one) for one in sorted(rows.items(), key=_order)] for type, rows in found.items()}


def _order(one: tuple[tuple[str, str, str], dict[str, float]]) -> tuple[int, float]:
    (step, _, time), _ = one
    return int(step), float(time)


def _record(at: tuple[str, str, str], values: dict[str, float]) -> dict[str, Any]:
    step, epoch, time = at
    when = datetime.fromtimestamp(float(time), timezone.utc).astimezone().isoformat()
    return {
        "value": values,
        "sequence": {"epoch": int(float(epoch)) if epoch else None, "step": int(step), "timestamp": when},
    }


def _write(about: dict[str, Any], metrics: dict[str, list[dict[str, Any]]], session: Session) -> Path:
    began = files.moment(about["started_at"])
    tail = hashlib.sha256(about["id"].encode()).hexdigest()[:6]
    own = f"{about['name']}_{began:%y%m%d_%H%M%S}_{tail}"
    place = files.runs_folder() / own
    (place / KEPT).mkdir(parents=True, exist_ok=True)
    for type, records in metrics.items():
        (place / files.metrics_path(type)).unlink(missing_ok=True)
        for record in records:
            files.append_metrics(place, type, record)
    files.write_index(place, list(metrics))
    files.write(place / files.HPARAMS, about["hparams"])
    files.write(place / files.PLATFORM, about["environment"].get("platform") or {})
    files.write(place / files.GIT, about["environment"].get("git") or {})
    status = STATUS.get(about["state"], "Running")
    path = f"/{session.user}/{about['folder']}/{about['name']}"
    note = {"action": "download", "timestamp": files.now(), "host": session.host, "id": about["id"], "path": path}
    metadata = {
        "kind": "Run",
        "name": about["name"],
        "labels": about["labels"],
        "description": about["description"],
        "startTimestamp": about["started_at"],
        "endTimestamp": about["ended_at"],
        "status": status,
        "alternativeName": own,
        "associations": {"input": [], "output": []},
        "remote": [note],
    }
    files.write(place / files.METADATA, metadata)
    # the server already has these, so they are not uploaded again
    known = {"metrics": {type: len(records) for type, records in metrics.items()}, "hparams": about["hparams"]}
    (place / KEPT / "imported.json").write_text(json.dumps({**known, "status": status}))
    return place
