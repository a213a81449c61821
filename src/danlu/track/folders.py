"""Where runs lie on this machine.

.danlu/runs/                      DANLU_RUNS_DIR names another place; inside a job it is set
  mnist-run-4mpa3.../             one folder per run: its name, for people, and its id
    0f3c....journal               one journal per process
    companion.log                 what the companion had to say
  artifacts/                      artifacts; what one is like: `danlu.content.drafts`
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
    """The folder of artifacts: with the runs, so that a sync finds both. `given` is a folder of runs too."""
    return os.path.join(runs_folder(environ, given), ARTIFACTS)


def make_run_folder(parent: str, name: str, run_id: str) -> str:
    """Make the folder of a run; below the folder for temporary files where `parent` cannot be written."""
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
    """The folders of runs at or below a folder, those with journals in them."""
    for parent, inner, files in os.walk(folder):
        inner.sort()
        if ARTIFACTS in inner:
            inner.remove(ARTIFACTS)
        if any(name.endswith(JOURNAL) for name in files):
            yield parent


def journals_in(folder: str) -> list[str]:
    """The journals of a run, oldest name first. Names are random; the order means nothing but is always the same."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(JOURNAL))
    except FileNotFoundError:
        return []
    return [os.path.join(folder, name) for name in names]
