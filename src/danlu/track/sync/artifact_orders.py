"""Operations on artifacts that a training process delegates to another process: send, find, fetch."""

from __future__ import annotations

import time
import urllib.parse
from typing import Any

from danlu.track.sync.address import Address, connected
from danlu.transfer.api import Api
from danlu.transfer.artifact_download import fetch_files, fetch_manifest, make_folders
from danlu.transfer.artifact_folders import send_folder
from danlu.transfer.errors import Damaged, LocalProblem, Refused, ServerAway

OTHERS_SECONDS, LOOK_SECONDS = 60.0, 0.2
"""How long to wait for an artifact that another process is sending."""


def carry_out(address: Address, order: dict[str, Any]) -> dict[str, Any]:
    """Return the outcome: `is_there`, `message`, and the requested values."""
    do = {"send": _send, "find": _find, "fetch": _fetch}[order["do"]]
    try:
        with connected(address) as api:
            return {"is_there": True, "message": "", **do(api, order)}
    except Refused as refused:
        return {"is_there": False, "message": refused.message, "status": refused.status}
    except (Damaged, LocalProblem, ValueError) as error:
        return {"is_there": False, "message": str(error)}
    except ServerAway as error:
        return {"is_there": False, "message": f"no server answers at {address.url} ({error})", "status": 0}


def _send(api: Api, order: dict[str, Any]) -> dict[str, Any]:
    done = send_folder(api, order["artifact"])
    deadline = time.monotonic() + OTHERS_SECONDS
    while done is None and time.monotonic() < deadline:
        time.sleep(LOOK_SECONDS)  # the companion or a job's stager is sending it, and will be done soon
        done = send_folder(api, order["artifact"])
    if done is None:
        return {"is_there": False, "message": "another process is sending it"}
    return {"is_there": not done.problem, "message": done.problem, "version": done.version}


def _find(api: Api, order: dict[str, Any]) -> dict[str, Any]:
    query = {"ref": order["ref"], **({"project": order["project"]} if order.get("project") else {})}
    return {"found": api.get(f"/artifacts/named?{urllib.parse.urlencode(query)}")}


def _fetch(api: Api, order: dict[str, Any]) -> dict[str, Any]:
    version = api.get(f"/artifacts/versions/{order['artifact']}")
    manifest = fetch_manifest(api, version["id"], version["manifest"])
    make_folders(manifest, order["to"])
    return {"paths": fetch_files(api, version["id"], manifest.files, order["to"])}
