"""What the Python of jobs can import. Run by that Python; nothing is imported, for loading torch takes seconds.

    python -I packages.py NAME...

It prints JSON: `others` are those of the names that can be imported, `own` are Danlu's packages (name -> folders and
problem). A problem is why a job cannot read what the server can; empty when it can. `version`, `site_packages` and
`has_pip` are those of that Python.
"""

from __future__ import annotations

import importlib.util
import json
import os
import stat
import sys
import sysconfig
from typing import Any

OWN = ("danlu", "danlu_accel", "t9k", "tiacc_training", "tikit", "moxing")
"""Of the distributions danlu, danlu-accel and danlu-compat."""


def folders_of(name: str) -> list[str]:
    """The folders of a package; none when it is not installed. Those of an editable install may be anywhere."""
    try:
        found = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return []
    if found is None:
        return []
    first = [os.path.dirname(found.origin)] if found.origin else []  # compiled parts may lie apart from it
    return list(dict.fromkeys(map(os.path.realpath, [*first, *(found.submodule_search_locations or ())])))


def problem_with(folder: str) -> str:
    """Why the user of a job cannot read a package; jobs of a server that is not root are its own user."""
    if os.geteuid() != 0:
        return ""
    needed = stat.S_IROTH | stat.S_IXOTH
    first = os.path.join(folder, "__init__.py")
    if os.stat(folder).st_mode & needed != needed:
        return f"{folder} is closed to other users"
    if os.path.exists(first) and not os.stat(first).st_mode & stat.S_IROTH:
        return f"{first} is not readable for other users"
    return ""


def look(names: list[str]) -> dict[str, Any]:
    places = {name: [folder for folder in folders_of(name) if os.path.isdir(folder)] for name in OWN}
    own = {
        name: {"folders": folders, "problem": next(filter(None, map(problem_with, folders)), "")}
        for name, folders in places.items()
        if folders
    }
    return {
        "own": own,
        "others": [name for name in names if folders_of(name)],
        "version": "{}.{}".format(*sys.version_info[:2]),
        "site_packages": sysconfig.get_path("purelib"),
        "has_pip": bool(folders_of("pip")),
    }


if __name__ == "__main__":
    print(json.dumps(look(sys.argv[1:])))
