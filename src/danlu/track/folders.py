"""Folders of runs on this machine.

.danlu/runs/                      or DANLU_RUNS_DIR, which is set inside a job
  mnist-run-4mpa3.../             one folder per run: its name, for humans, and its id
    0f3c....journal               one journal per process
    companion.log                 messages of the companion
  artifacts/                      artifacts, see `danlu.content.drafts`
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from typing import Optional

from danlu.content.drafts import FOLDER as ARTIFACTS
from danlu.track.warn import warn_once

RUNS_VARIABLE = "DANLU_RUNS_DIR"
DEFAULT = os.path.join(".danlu", "runs")
JOURNAL = ".journal"
RUN_ID = re.compile(r"run-[a-z2-7]{26}")


def runs_folder(environ: Mapping[str, str], given: Optional[str] = None) -> str:
    return os.path.abspath(given or environ.get(RUNS_VARIABLE) or DEFAULT)


def artifacts_folder(environ: Mapping[str, str], given: Optional[str] = None) -> str:
    """Return the folder of artifacts, which is next to the runs, so that sync finds both. `given` is a folder of runs
    too."""
    return os.path.join(runs_folder(environ, given), ARTIFACTS)


def make_run_folder(parent: str, name: str, run_id: str) -> str:
    """Create the folder of a run; in the temporary folder when `parent` is not writable."""
    own = folder_name(name, run_id)
    try:
        path = os.path.join(parent, own)
        os.makedirs(path, exist_ok=True)
        if not os.access(path, os.W_OK):
            raise PermissionError(13, "no right to write", path)
    except OSError as error:
        elsewhere = os.path.join(tempfile.gettempdir(), "danlu-runs")
        warn_once("folder", f"{parent} cannot be used ({error.strerror}); the run is written to {elsewhere}")
        path = os.path.join(elsewhere, own)
        os.makedirs(path, exist_ok=True)
    return path


def folder_name(name: str, run_id: str) -> str:
    return f"{re.sub(r'[^0-9A-Za-z_.-]+', '-', name).strip('-.')[:60] or 'run'}-{run_id}"


def find_runs(folder: str) -> Iterator[str]:
    """Yield the folders that contain journals, at or below a folder."""
    for parent, inner, files in os.walk(folder):
        inner.sort()
        if ARTIFACTS in inner:
            inner.remove(ARTIFACTS)
        if any(name.endswith(JOURNAL) for name in files):
            yield parent


def journals_in(folder: str) -> list[str]:
    """Return the journals of a run, sorted by name. Names are random; sorting only makes the order stable."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(JOURNAL))
    except FileNotFoundError:
        return []
    return [os.path.join(folder, name) for name in names]
