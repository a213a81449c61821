"""Folders that the jobs of a project share are named by its number. Older versions named them after the project.

Owners can change the name of a project, and others can take it: a name must not lead to a folder. So what is there is
renamed once, when the first server of this version starts, by the names that projects have then. What belongs to no
project stays where it is, and no job can reach it any more: an admin can move it to the number of a project.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from danlu.launch.owner import login_name

DONE = ".named-by-id"
"""This file says that it was done: a name that is taken later gets nothing."""


def name_by_id(folder: Path, projects: Mapping[int, str]) -> Iterator[str]:
    """Rename the folders of all projects (id -> name), once. Yield a sentence about each."""
    folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    if (folder / DONE).exists():
        return
    for number, name in sorted(projects.items()):
        old, new = folder / login_name(name), folder / str(number)
        if old.is_dir() and not old.is_symlink() and not new.exists():
            with suppress(FileNotFoundError):  # another server was faster
                old.rename(new)
                yield f"the shared folder of the project {name!r} is now {new}"
    for left in sorted(folder.iterdir()):
        if not left.name.isdigit():
            yield f"{left} belongs to no project; move it to the number of one if its files are needed"
    (folder / DONE).touch()
