"""Read a job's requirements, and copy only the files that an installer needs to a separate folder.

An environment depends on these files alone, and its key is made from them. Everything read here is untrusted user
input.
"""

from __future__ import annotations

import importlib
import os
import re
import shlex
import shutil
from collections.abc import Iterator, Sequence
from typing import Any

REQUIREMENTS, PYPROJECT, LOCK = "requirements.txt", "pyproject.toml", "uv.lock"
MAX_FILES = 20_000
MAX_TEXT_BYTES = 4 << 20
_ARCHIVES = (".whl", ".tar.gz", ".zip", ".tar.bz2", ".tgz")
_INCLUDES = ("-r", "--requirement", "-c", "--constraint")
_EDITABLE = ("-e", "--editable")
_FIND_LINKS = ("-f", "--find-links")
_COMMENT = re.compile(r"(^|\s)#.*$")


class BadRequirements(Exception):
    """The requirements of the job cannot be installed; the message says what is expected."""


def collect(code: str, to: str, *, file: str, packages: Sequence[str]) -> str:
    """Copy all files of the requirements to `to`. Return the name of the file to install from."""
    copier = _Copier(code, to)
    if not file:
        copier.write(REQUIREMENTS, "".join(f"{line}\n" for line in packages))
        copier.follow("", packages)
        return REQUIREMENTS
    name = os.path.basename(file)
    if name == LOCK:
        copier.copy(file)
        copier.copy(os.path.join(os.path.dirname(file), PYPROJECT))
        for path in _locked_paths(copier.read(file), file):
            copier.copy(os.path.normpath(os.path.join(os.path.dirname(file), path)))
        return file
    if name == PYPROJECT:
        lines = _dependencies(copier.read(file), file)
        copier.write(REQUIREMENTS, "".join(f"{line}\n" for line in lines))
        copier.follow("", lines)
        return REQUIREMENTS
    copier.requirements(file)
    return file


class _Copier:
    def __init__(self, code: str, to: str) -> None:
        self._code = code
        self._to = to
        self._copied: set[str] = set()

    def requirements(self, path: str) -> None:
        """Copy a requirements file and the files that it refers to."""
        path = os.path.normpath(path)
        if path in self._copied:
            return
        text = self.read(path)
        self.copy(path)
        self.follow(os.path.dirname(path), list(_logical_lines(text)))

    def follow(self, folder: str, lines: Sequence[str]) -> None:
        """Copy the files that lines refer to. Nested requirements files are relative to `folder`, all else to the code
        folder."""
        for line in lines:
            option, value = _option(line)
            if option in _EDITABLE:
                raise BadRequirements(
                    f"{line!r}: editable packages cannot be shared; leave the line out, the code folder is where the "
                    f"command starts, or name the package without -e"
                )
            if option in _INCLUDES:
                if "://" in value:
                    raise BadRequirements(f"{line!r}: expected a file of the code folder, got an address")
                self.requirements(os.path.join(folder, value))
            elif option in _FIND_LINKS and "://" not in value:
                nearby = os.path.join(folder, value)
                place = nearby if os.path.isdir(os.path.join(self._code, nearby)) else value
                self.copy(os.path.normpath(place), only=_ARCHIVES)
            elif not option and _is_path(line):
                self.copy(os.path.normpath(_path_of(line)))

    def read(self, path: str) -> str:
        source = self._source(path)
        if not os.path.isfile(source):
            raise BadRequirements(f"{path!r} is not in the code folder; a file that .danluignore names is not sent")
        with open(source, errors="replace") as file:
            text = file.read(MAX_TEXT_BYTES + 1)
        if len(text) > MAX_TEXT_BYTES:
            raise BadRequirements(f"{path!r} has more than {MAX_TEXT_BYTES >> 20} MiB")
        return text

    def write(self, path: str, text: str) -> None:
        with open(os.path.join(self._to, path), "w") as file:
            file.write(text)

    def copy(self, path: str, *, only: tuple[str, ...] = ()) -> None:
        """Copy a file or a folder."""
        source = self._source(path)
        if os.path.isfile(source):
            self._copy_file(source, path)
            return
        if not os.path.isdir(source):
            raise BadRequirements(f"{path!r} is not in the code folder; a file that .danluignore names is not sent")
        os.makedirs(os.path.join(self._to, path), mode=0o755, exist_ok=True)
        for parent, folders, names in os.walk(source):
            folders[:] = [] if only else [name for name in folders if name not in (".git", "__pycache__")]
            for name in names:
                found = os.path.join(parent, name)
                if (not only or name.endswith(only)) and os.path.isfile(found) and not os.path.islink(found):
                    self._copy_file(found, os.path.join(path, os.path.relpath(found, source)))

    def _copy_file(self, source: str, path: str) -> None:
        if len(self._copied) >= MAX_FILES:
            raise BadRequirements(f"the requirements refer to more than {MAX_FILES} files")
        self._copied.add(path)
        target = os.path.join(self._to, path)
        os.makedirs(os.path.dirname(target), mode=0o755, exist_ok=True)
        shutil.copyfile(source, target)
        os.chmod(target, 0o755 if os.stat(source).st_mode & 0o100 else 0o644)

    def _source(self, path: str) -> str:
        """Resolve a path in the code folder. Uploaded code has no symlinks, so one here is an attempt to escape."""
        names = os.path.normpath(path).split(os.sep)
        steps = [os.path.join(self._code, *names[: number + 1]) for number in range(len(names))]
        if os.path.isabs(path) or names[0] == os.pardir or any(map(os.path.islink, steps)):
            raise BadRequirements(f"{path!r} is outside of the code folder; expected a path in it")
        return steps[-1]


def _logical_lines(text: str) -> Iterator[str]:
    """Yield lines without comments; a trailing backslash continues a line."""
    for line in re.sub(r"\\\r?\n", " ", text).splitlines():
        told = _COMMENT.sub("", line).strip()
        if told:
            yield told


def _option(line: str) -> tuple[str, str]:
    """Return option and value of a line; ("", line) for a package."""
    if not line.startswith("-"):
        return "", line
    if not line.startswith("--") and len(line) > 2 and line[2] not in " =":
        return line[:2], line[2:].strip()
    try:
        words = shlex.split(line.replace("=", " ", 1) if line.startswith("--") else line)
    except ValueError:
        words = line.split()
    return words[0], words[1] if len(words) > 1 else ""


def _is_path(line: str) -> bool:
    path = _path_of(line)
    if re.match(r"file:", path) or re.search(r"@\s*file:", line):
        raise BadRequirements(f"{line!r}: expected a path in the code folder, such as ./wheels/x.whl")
    if "://" in line or " @ " in line:
        return False
    return path.startswith((".", "/")) or "/" in path or path.endswith(_ARCHIVES)


def _path_of(line: str) -> str:
    """Strip markers, hashes and extras from a path."""
    path = re.split(r"\s*;|\s+--", line, maxsplit=1)[0].strip()
    return re.sub(r"\[[^]]*\]$", "", path)


def load_toml() -> Any:
    """The `tomllib` module; None before Python 3.11."""
    try:
        return importlib.import_module("tomllib")
    except ImportError:
        return None


def _locked_paths(text: str, file: str) -> Iterator[str]:
    """Yield the wheels and folders in the code that a uv.lock refers to, except the project itself, which is not
    installed."""
    toml = load_toml()
    if toml is None:
        return  # the installer reports what is missing
    try:
        packages = toml.loads(text).get("package", [])
    except ValueError as error:
        raise BadRequirements(f"{file} is not valid TOML: {error}") from error
    for package in packages if isinstance(packages, list) else ():
        source = package.get("source") if isinstance(package, dict) else None
        if not isinstance(source, dict):
            continue
        for kind in ("path", "directory"):
            if isinstance(source.get(kind), str):
                yield source[kind]


def _dependencies(text: str, file: str) -> list[str]:
    toml = load_toml()
    if toml is None:
        raise BadRequirements(f"{file}: the node needs Python 3.11 to read it; expected requirements.txt")
    try:
        project = toml.loads(text).get("project")
    except ValueError as error:
        raise BadRequirements(f"{file} is not valid TOML: {error}") from error
    if not isinstance(project, dict):
        raise BadRequirements(f"{file} has no [project] with dependencies; expected requirements.txt")
    found = project.get("dependencies", [])
    if not isinstance(found, list) or not all(isinstance(line, str) for line in found):
        raise BadRequirements(f"{file}: project.dependencies: expected a list of texts")
    return list(found)
