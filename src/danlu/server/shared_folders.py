"""Renames shared folders of projects, which older versions named after the project, to the project's number.

Names of projects can be changed and reused, so a name must not lead to a folder. Folders are renamed once, when the
first server of this version starts, by the current names of projects. Folders of no project stay where they are, out of
reach of jobs: an admin can move one to the number of a project.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from danlu.launch.owner import login_name

DONE = ".named-by-id"
"""This file marks that it was done: a project that takes a name later gets no folder."""


def name_by_id(folder: Path, projects: Mapping[int, str]) -> Iterator[str]:
    """Rename the folders of all projects (id -> name), once. Yield a sentence about each."""
    folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    if (folder / DONE).exists():
        return
    for number, name in sorted(projects.items()):
        old, new = folder / login_name(name), folder / str(number)
        if old.is_dir() and not old.is_symlink() and not new.exists():
            with suppress(FileNotFoundError):  # another server renamed it first
                old.rename(new)
                yield f"the shared folder of the project {name!r} is now {new}"
    for left in sorted(folder.iterdir()):
        if not left.name.isdigit():
            yield f"{left} belongs to no project; move it to the number of one if its files are needed"
    (folder / DONE).touch()
