"""Virtual environments for what everyday tests do not install; they see the packages of the one that runs the tests."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).parents[2]


def venv_with(name: str, *packages: str) -> Path:
    """Python of the environment `.bench/NAME`, made when it is not there."""
    home = ROOT / ".bench" / name
    python = home / "bin" / "python"
    if (home / "ready").exists():
        return python
    subprocess.run([sys.executable, "-m", "venv", home], check=True)
    ask = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    inner = subprocess.run(ask, capture_output=True, text=True, check=True).stdout.strip()
    Path(inner, "outer.pth").write_text(sysconfig.get_path("purelib") + "\n")
    command = [python, "-m", "pip", "--disable-pip-version-check", "install", "-q", "-c", ROOT / "constraints.txt"]
    subprocess.run([*command, *packages], check=True)
    (home / "ready").touch()
    return python
