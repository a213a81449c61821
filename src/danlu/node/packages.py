"""List what the Python of jobs can import. Run by that Python, without importing anything: loading torch takes seconds.

    python -I packages.py NAME...

Prints JSON: `others` lists which of the names can be imported, `own` describes Danlu's packages (name -> folders and
problem). The problem says why a job cannot read a package; empty when it can. `version`, `site_packages` and `has_pip`
describe that Python.
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
"""Packages of the distributions danlu, danlu-accel and danlu-compat."""


def folders_of(name: str) -> list[str]:
    """Return the folders of a package; empty when it is not installed. Editable installs may be anywhere."""
    try:
        found = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return []
    if found is None:
        return []
    first = [os.path.dirname(found.origin)] if found.origin else []  # compiled parts may be in another folder
    return list(dict.fromkeys(map(os.path.realpath, [*first, *(found.submodule_search_locations or ())])))


def problem_with(folder: str) -> str:
    """Why jobs cannot read a package; empty when they can. If the server is not root, jobs run as its user."""
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
