"""Names of people, projects, flavors and frameworks, checked where they enter."""

from __future__ import annotations

import re

_USER = re.compile(r"[a-z][a-z0-9_.-]{0,31}", re.ASCII)
_PROJECT = re.compile(r"[a-z0-9][a-z0-9_.-]{0,62}", re.ASCII)
_LISTED = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}", re.ASCII)
_TAKEN = {"danlu", "nobody", "root"}


def check_user_name(name: str) -> str:
    """Return the name if it can be a person's: it becomes the name of a folder in /home. Else raise ValueError."""
    if not _USER.fullmatch(name):
        raise ValueError(
            f"{name!r} is not a name for a person; a small letter and then up to 31 small letters, digits, "
            "dots, dashes and underscores would be right, such as ada"
        )
    if name in _TAKEN:
        raise ValueError(f"{name!r} is kept for the system; choose another name")
    return name


def check_project_name(name: str) -> str:
    """Return the name if it can be a project's; else raise ValueError."""
    if not _PROJECT.fullmatch(name):
        raise ValueError(
            f"{name!r} is not a name for a project; up to 63 small letters, digits, dots, dashes and underscores "
            "would be right, such as vision"
        )
    return name


def check_flavor_name(name: str) -> str:
    """Return the name if it can be a flavor's; else raise ValueError."""
    return _listed(name, "a flavor", "gpu-8")


def check_framework_name(name: str) -> str:
    """Return the name if it can be a framework's; else raise ValueError."""
    return _listed(name, "a framework", "pytorch-2.13-cpu")


def _listed(name: str, noun: str, example: str) -> str:
    if not _LISTED.fullmatch(name):
        raise ValueError(
            f"{name[:80]!r} is not a name for {noun}; up to 63 letters, digits, dots, dashes and underscores, "
            f"beginning with a letter or a digit, would be right, such as {example}"
        )
    return name
