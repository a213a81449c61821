"""Select the files of a code folder to upload: all except those in `.danluignore` and a few defaults."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pathspec

from danlu.errors import InvalidInput

IGNORE_FILE = ".danluignore"
DEFAULTS = (
    ".git/",
    ".hg/",
    ".svn/",
    "__pycache__/",
    "*.py[co]",
    ".venv/",
    "venv/",
    ".tox/",
    ".nox/",
    ".mypy_cache/",
    ".pytest_cache/",
    ".ruff_cache/",
    ".ipynb_checkpoints/",
    ".idea/",
    ".vscode/",
    ".DS_Store",
    "node_modules/",
    "*.egg-info/",
    ".em/",  # runs that scripts for t9k.em wrote here
    ".danlu.yml",  # may hold an API key
)


class Found(NamedTuple):
    path: str
    """Relative to the folder, with `/`."""

    local: Path


def find_files(folder: Path) -> Iterator[Found]:
    """Yield regular files in a folder that are not ignored, folder by folder.

    Symlinks to files are followed. Symlinks to folders are not: they often lead to data, and may form loops. Sockets,
    pipes and broken symlinks are skipped.
    """
    spec = load_rules(folder)
    return _walk(folder, "", spec)


def load_rules(folder: Path) -> pathspec.GitIgnoreSpec:
    """Return the defaults, then the lines of the ignore file, which can undo a default with `!`."""
    lines = list(DEFAULTS)
    file = folder / IGNORE_FILE
    try:
        lines += file.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        pass
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{file} cannot be read: {error}") from error
    try:
        return pathspec.GitIgnoreSpec.from_lines(lines)
    except ValueError as error:
        raise InvalidInput(f"{file} has a pattern that cannot be used: {error}") from error


def _walk(folder: Path, below: str, spec: pathspec.GitIgnoreSpec) -> Iterator[Found]:
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError as error:
        raise InvalidInput(f"{folder} cannot be read: {error.strerror}") from error
    for entry in entries:
        path = below + entry.name
        if entry.is_dir(follow_symlinks=False):
            if not spec.match_file(path + "/"):
                yield from _walk(Path(entry.path), path + "/", spec)
        elif not spec.match_file(path) and entry.is_file():
            yield Found(path, Path(entry.path))
