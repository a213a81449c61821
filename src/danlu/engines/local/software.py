"""Find programs and packages on this machine that jobs often use."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from danlu.engines.local.scripts import NODE_SCRIPTS

PROGRAMS = ("mpirun",)
PACKAGES = ("torch", "numpy", "mindspore", "tensorflow")
MAX_SCRIPT_BYTES = 64 << 10
_PYTHON = re.compile(r"python(3\.[0-9]+)")


@dataclass(frozen=True)
class Interpreter:
    path: str
    version: str
    """For example 3.11."""


@dataclass(frozen=True)
class Software:
    names: tuple[str, ...] | None = None
    """Packages and programs that jobs can use; None when the Python that runs Danlu does not answer."""

    folders: tuple[Path, ...] = ()
    """Folders of Danlu's own packages. Editable installs may be anywhere."""

    problems: tuple[str, ...] = ()
    """One sentence for each package that jobs cannot import."""

    interpreter: Interpreter | None = None
    """The Python that runs Danlu and, by default, jobs; None when it does not answer."""

    pythons: Mapping[str, Interpreter] = field(default_factory=dict)
    """Version -> Python that jobs can ask for."""

    site_packages: str = ""
    """Site-packages of that default Python."""

    pip: str = ""
    """A Python that has pip; empty when none does."""

    uv: str = ""
    """Path of uv; empty when it is not installed."""

    scripts: Mapping[str, str] = field(default_factory=dict)
    """Scripts of the server's packages for its Python: name -> text without the first line."""

    def seen(self, is_seen: Callable[[str], bool]) -> Software:
        """The part of this that a task in a sandbox can run."""
        return replace(
            self,
            pythons={version: one for version, one in self.pythons.items() if is_seen(one.path)},
            uv=self.uv if self.uv and is_seen(self.uv) else "",
        )

    @property
    def version(self) -> str:
        return "" if self.interpreter is None else self.interpreter.version


def find_software(python: Path, others: Iterable[Path] = ()) -> Software:
    """Inspect without importing packages. `others`: interpreters that jobs can ask for, besides those in PATH."""
    path = f"{python.parent}:{os.environ.get('PATH', os.defpath)}"
    programs = [name for name in PROGRAMS if shutil.which(name, path=path)]
    command = [str(python), "-I", str(NODE_SCRIPTS / "packages.py"), *PACKAGES]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
        found = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return Software()
    own = Interpreter(str(python), found["version"])
    return Software(
        names=(*programs, *found["others"]),
        folders=tuple(Path(folder) for one in found["own"].values() for folder in one["folders"]),
        problems=tuple(
            f"Jobs cannot import {name}: {one['problem']}." for name, one in found["own"].items() if one["problem"]
        ),
        interpreter=own,
        pythons={**_find_pythons(others, path), own.version: own},
        site_packages=found["site_packages"],
        pip=str(python) if found["has_pip"] else "",
        uv=shutil.which("uv", path=path) or "",
        scripts=_scripts(python.parent),
    )


def _find_pythons(others: Iterable[Path], path: str) -> dict[str, Interpreter]:
    """Return version -> interpreter. The version is taken from the file name; wrapper scripts such as pyenv's are
    skipped."""
    named = [Path(folder, name) for folder in path.split(":") for name in _names(folder)]
    found: dict[str, Interpreter] = {}
    for place in (*others, *named):
        match = _PYTHON.fullmatch(place.resolve().name) or _PYTHON.fullmatch(place.name)
        if match and match[1] not in found and os.access(place, os.X_OK) and not _is_script(place):
            found[match[1]] = Interpreter(str(place), match[1])
    return dict(sorted(found.items(), key=lambda item: int(item[0].split(".")[1])))


def _names(folder: str) -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder) if _PYTHON.fullmatch(name))
    except OSError:
        return []


def _is_script(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(2) == b"#!"
    except OSError:
        return True


def _scripts(folder: Path) -> dict[str, str]:
    """Scripts of this folder that its Python runs. `pip` is left out: every task has its own."""
    found = {}
    for path in sorted(folder.iterdir()):
        if path.is_symlink() or not path.is_file() or path.name.startswith(("pip", "python")):
            continue
        if path.stat().st_size > MAX_SCRIPT_BYTES:
            continue
        first, _, rest = path.read_bytes().partition(b"\n")
        if first.startswith(f"#!{folder}/python".encode()):
            found[path.name] = rest.decode(errors="replace")
    return found
