"""`track.start` and `track.load`: start or continue a run."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Optional, Union

from danlu import journal
from danlu.track import capture, warn
from danlu.track.folders import RUN_ID, find_runs, make_run_folder, runs_folder
from danlu.track.ranks import rank_of
from danlu.track.reading import read_run
from danlu.track.run import Run, SilentRun
from danlu.track.saying import parent_id
from danlu.track.spawning import hand_over
from danlu.track.values import MAX_NAME, MAX_TEXT, as_labels, brief, is_true, text_of, to_plain
from danlu.track.warn import warn_once
from danlu.track.writer import Writer

SWITCH = "DANLU_TRACK"
"""Environment variable: `on` (default), `offline` (nothing is sent), `off` (nothing is written)."""


SET_FIELDS = ("labels", "name", "folder", "description")
"""Fields that a script may set after the start."""

_counts: dict[str, int] = {}


def start(  # noqa: PLR0913 - each says one thing about a run, by name
    name: str,
    hparams: Any = None,
    *,
    folder: Optional[str] = None,
    labels: Sequence[str] = (),
    description: str = "",
    group: Optional[str] = None,
    parent: Union[Run, str, None] = None,
    all_ranks: bool = False,
    project: Optional[str] = None,
    dir: Union[str, Path, None] = None,
) -> Run:
    """Start a run. Never raises: a problem is one warning, and the run is silent.

    `hparams` is a mapping, an `argparse.Namespace`, a data class, or any other object with attributes. `group` is a
    name that several runs share, `parent` the run (or its id) that this one is part of; both are shown. `folder` and
    `project` say where the server puts the run, `dir` where its files are stored here (`.danlu/runs`). Ranks other than
    0 get a silent run; with `all_ranks` each has its own run, named `NAME-rank3`. Inside a job, later attempts continue
    the same run as a newer branch.
    """
    warn.forget()
    environ = os.environ
    try:
        rank = rank_of(environ)
        if environ.get(SWITCH) == "off" or (rank != 0 and not is_true(all_ranks)):
            return SilentRun(name)
        called = text_of(name, MAX_NAME)
        called = f"{called[: MAX_NAME - 16]}-rank{rank}" if rank != 0 else called
        about = capture.job(environ)
        header = {
            "run": _run_id(called, about["job"]),
            "name": called.strip() or "run",
            "created_at": time.time(),
            "folder": None if folder is None else text_of(folder, MAX_TEXT),
            "labels": as_labels(labels) or [],
            "project": None if project is None else text_of(project, MAX_NAME),
            "description": "" if description is None else text_of(description, MAX_TEXT),
            "group": (None if group is None else text_of(group, MAX_NAME)) or None,
            "parent": parent_id(parent),
            **about,
            "rank": rank,
            "branch": about["attempt"] or 1,
            "writer": "process",
            "environment": to_plain(capture.environment()),
        }
        home = make_run_folder(runs_folder(environ, folder_given(dir)), called, str(header["run"]))
        run = _open(header, home)
        run.begin(hparams if hparams is not None else _hparams_of_job(environ))
        return run
    except Exception as error:
        warn_once("start", f"run {brief(name)} could not be started, nothing is tracked: {brief(error, 300)}")
        return SilentRun(name)


def load(path: Union[str, Path], *, dir: Union[str, Path, None] = None) -> Run:
    """Continue a run of this machine, given by folder or id. Points of the new branch supersede those of the old.

    Raises FileNotFoundError when there is no such run: starting another one would hide the mistake.
    """
    if rank_of(os.environ) != 0 or os.environ.get(SWITCH) == "off":
        return SilentRun(os.path.basename(os.fspath(path)))
    home = _find(os.fspath(path), runs_folder(os.environ, folder_given(dir)))
    known = read_run(home)
    try:
        header = {
            **known.header,
            **{field: value for field, value in known.fields.items() if field in SET_FIELDS},
            **capture.job(os.environ),
            "created_at": time.time(),
            "branch": known.branch + 1,
            "writer": "process",
            "environment": to_plain(capture.environment()),
        }
        run = _open(header, home)
        run.go_on(known.hparams, known.summary, known.last_step + 1)
        run.begin(None)
        return run
    except Exception as error:
        warn_once("start", f"run {home!r} cannot go on, nothing is tracked: {brief(error, 300)}")
        return SilentRun(str(known.header.get("name")))


def folder_given(dir: Any) -> Optional[str]:
    """Return the folder that a script gives, as text; None for the default, with a warning for what is no path."""
    try:
        return None if dir is None else os.fsdecode(dir) or None
    except Exception:  # a foreign object may raise anything
        warn_once("dir", f"dir is the path of a folder, not {brief(dir)}; the default is used")
        return None


def _open(header: dict[str, Any], home: str) -> Run:
    journal_id = journal.new_journal_id()
    path = os.path.join(home, f"{journal_id}.journal")
    writer = Writer(path, journal_id, journal.encode_run(header))
    run = Run(header, home, writer)
    writer.call_when_begun(lambda: hand_over(home, path, is_over=lambda: run.state != "running"))
    return run


def _run_id(name: str, job: Optional[str]) -> str:
    """Return a random id. Inside a job, derive it from job and name, so that the next attempt continues the same
    run."""
    if job is None:
        return journal.new_run_id()
    _counts[name] = _counts.get(name, 0) + 1
    digest = hashlib.sha256(json.dumps([job, name, _counts[name]]).encode()).digest()
    return "run-" + base64.b32encode(digest[:16]).decode().rstrip("=").lower()


def _find(path: str, parent: str) -> str:
    if os.path.isdir(path):
        return path
    if RUN_ID.fullmatch(path):
        for folder in find_runs(parent):
            if folder.endswith(path):
                return folder
    raise FileNotFoundError(2, f"no run in this folder, and none with this id below {parent}", path)


def _hparams_of_job(environ: Mapping[str, str]) -> Optional[dict[str, Any]]:
    try:
        with open(environ["DANLU_HYPERPARAMETERS"]) as file:
            found = json.load(file)
        return found if isinstance(found, dict) else None
    except (KeyError, OSError, ValueError):
        return None
