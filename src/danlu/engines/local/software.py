"""Which of the programs and packages that jobs like to have are on this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

PROGRAMS = ("mpirun",)
PACKAGES = ("torch", "numpy", "mindspore", "tensorflow")
_LOOK = "import importlib.util, sys; print(*(name for name in sys.argv[1:] if importlib.util.find_spec(name)))"


def find_software(python: Path) -> tuple[str, ...] | None:
    """Return what a job's `python3` can import and its shell can call; None when that Python does not answer.

    Nothing is imported: finding torch takes a moment, loading it seconds.
    """
    path = f"{python.parent}:{os.environ.get('PATH', os.defpath)}"
    programs = [name for name in PROGRAMS if shutil.which(name, path=path)]
    try:
        done = subprocess.run(
            [str(python), "-I", "-c", _LOOK, *PACKAGES], capture_output=True, text=True, timeout=30, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return (*programs, *done.stdout.split())
