"""`pip` of the pages: installs nothing, and fails for names, extras and folders that are not there.

python checked_pip.py ROOT install [OPTIONS] REQUIREMENT...
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import tomllib

OWN = {"danlu": ".", "danlu-accel": "accel", "danlu-compat": "compat"}


def problem_with(root: Path, requirement: str) -> str:
    """Why it could not be installed; empty when it can."""
    found = re.fullmatch(r"(?P<name>[\w./-]+)(?:\[(?P<extras>[\w,-]+)\])?(?:[=<>~].*)?", requirement)
    if found is None:
        return f"{requirement!r} is no requirement"
    name = found["name"]
    folder = name if name.startswith((".", "/")) else OWN.get(name)
    if folder is None:
        known = (root / "constraints.txt").read_text() + (root / "requirements-dev.txt").read_text()
        return "" if re.search(rf"^{re.escape(name)}\b", known, re.MULTILINE) else f"{name!r} is in no constraints.txt"
    project = root / folder / "pyproject.toml"
    if not project.is_file():
        return f"{folder!r} has no pyproject.toml"
    extras = tomllib.loads(project.read_text())["project"].get("optional-dependencies", {})
    missing = [extra for extra in (found["extras"] or "").split(",") if extra and extra not in extras]
    return f"{name!r} has no extra {missing[0]!r}; it has {', '.join(extras)}" if missing else ""


def main(root: str, *words: str) -> int:
    requirements = [word for word in words[1:] if not word.startswith("-")]
    problems = [problem for one in requirements if (problem := problem_with(Path(root), one))]
    if words[:1] != ("install",) or not requirements:
        problems.append(f"expected pip install REQUIREMENT, got pip {' '.join(words)}")
    print("\n".join(problems), file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
