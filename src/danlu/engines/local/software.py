"""Which of the programs and packages that jobs like to have are on this machine."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from danlu.engines.local.prepare import NODE_SCRIPTS

PROGRAMS = ("mpirun",)
PACKAGES = ("torch", "numpy", "mindspore", "tensorflow")


@dataclass(frozen=True)
class Software:
    names: tuple[str, ...] | None = None
    """What a job's `python3` can import and its shell can call; None when that Python does not answer."""

    folders: tuple[Path, ...] = ()
    """Of Danlu's own packages; those that are installed editable may be anywhere."""

    problems: tuple[str, ...] = ()
    """One sentence for each of these that jobs cannot import."""


def find_software(python: Path) -> Software:
    """Look without importing anything."""
    path = f"{python.parent}:{os.environ.get('PATH', os.defpath)}"
    programs = [name for name in PROGRAMS if shutil.which(name, path=path)]
    command = [str(python), "-I", str(NODE_SCRIPTS / "packages.py"), *PACKAGES]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
        found = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return Software()
    return Software(
        names=(*programs, *found["others"]),
        folders=tuple(Path(folder) for one in found["own"].values() for folder in one["folders"]),
        problems=tuple(
            f"Jobs cannot import {name}: {one['problem']}." for name, one in found["own"].items() if one["problem"]
        ),
    )
