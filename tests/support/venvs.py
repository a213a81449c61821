"""Virtual environments for what everyday tests do not install."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def venv_with(name: str, *packages: str) -> Path:
    """Python of the environment `.bench/NAME`, made when it is not there."""
    home = ROOT / ".bench" / name
    python = home / "bin" / "python"
    if (home / "ready").exists():
        return python
    subprocess.run([sys.executable, "-m", "venv", home], check=True)
    pip = [str(python), "-m", "pip", "--disable-pip-version-check"]
    command = [*pip, "install", "-q", "-c", str(ROOT / "constraints.txt")]
    subprocess.run([*command, *packages], check=True)
    (home / "ready").touch()
    return python
