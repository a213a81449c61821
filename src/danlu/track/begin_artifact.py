"""`track.artifact` and `track.load_artifact`."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Optional, Union

from danlu.content import drafts
from danlu.content.ids import new_artifact_id
from danlu.content.names import check_artifact_name, is_artifact_id
from danlu.track.artifacts import ALIASES, LABELS, Artifact, why
from danlu.track.begin import SWITCH, folder_given
from danlu.track.folders import artifacts_folder, make_run_folder
from danlu.track.ranks import rank_of
from danlu.track.values import MAX_NAME, MAX_TEXT, as_labels, brief, text_of
from danlu.track.warn import warn_once

FIND_SECONDS = 120.0


def artifact(
    name: str,
    *,
    labels: Sequence[str] = (),
    description: str = "",
    aliases: Sequence[str] = (),
    project: Optional[str] = None,
    dir: Union[str, Path, None] = None,
) -> Artifact:
    """Start an artifact: after adding files and marking it as a run's output, it becomes the next version of its name.

    Never raises: a problem is one warning, and the artifact is silent. Ranks other than 0 get a silent artifact.
    """
    header: dict[str, Any] = {"artifact": new_artifact_id(), "name": text_of(name, MAX_TEXT)}
    try:
        if os.environ.get(SWITCH) == "off" or rank_of(os.environ) != 0:
            return Artifact(header, None)
        check_artifact_name(header["name"])
        header.update(
            labels=as_labels(labels, LABELS) or [],
            description="" if description is None else text_of(description, MAX_TEXT),
            aliases=as_labels(aliases, ALIASES) or [],
            project=None if project is None else text_of(project, MAX_NAME),
            created_at=time.time(),
        )
        parent = artifacts_folder(os.environ, folder_given(dir))
        made = Artifact(header, make_run_folder(parent, header["name"], header["artifact"]))
        made.begin()
        return made
    except Exception as error:
        warn_once("artifact", f"artifact {brief(name)} could not be begun, nothing is kept of it: {why(error)}")
        return Artifact(header, None, lost=why(error))


def load_artifact(
    ref: Union[str, Path], *, project: Optional[str] = None, dir: Union[str, Path, None] = None
) -> Artifact:
    """Find an artifact by `name:3`, `name` or `name:latest`, `name:best`, its id, or its folder on this machine.

    Raises FileNotFoundError when there is none and ConnectionError when the server cannot be reached: training without
    the requested artifact would hide the mistake. Works on every rank.
    """
    from danlu.track.uploading import order

    text = os.fspath(ref)
    parent = artifacts_folder(os.environ, folder_given(dir))
    folder = _here(text, parent)
    if folder is not None:
        return _of_draft(folder)
    answer = order({"do": "find", "ref": text, "project": project}, FIND_SECONDS)
    if not answer["is_there"]:
        kind = FileNotFoundError if answer.get("status") in (404, 422) else ConnectionError
        raise kind(f"artifact {text}: {answer['message']}")
    found = answer["found"]
    header = {"artifact": found["id"], **{name: found[name] for name in ("name", "version", "labels", "description")}}
    made = Artifact(header, None)
    if rank_of(os.environ) == 0 and os.environ.get(SWITCH) != "off":
        made.loaded(os.path.join(parent, drafts.folder_name(f"{found['name']}-{found['version']}", found["id"])))
    return made


def _here(text: str, parent: str) -> Optional[str]:
    if os.path.isfile(os.path.join(text, drafts.RECORD)):
        return os.path.abspath(text)
    if is_artifact_id(text):
        return next((folder for folder in drafts.find_drafts(parent) if folder.endswith(text)), None)
    return None


def _of_draft(folder: str) -> Artifact:
    draft = drafts.read_draft(folder)
    if draft is None:
        raise FileNotFoundError(2, "no artifact here", folder)
    version = draft.uploaded["version"] if draft.uploaded is not None else None
    made = Artifact({**draft.header, **draft.about, "version": version}, folder)
    made.go_on(draft)
    return made
