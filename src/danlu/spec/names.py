"""Validation of names of users, projects, flavors and frameworks."""

from __future__ import annotations

import re

_USER = re.compile(r"[a-z][a-z0-9_.-]{0,31}", re.ASCII)
_PROJECT = re.compile(r"[a-z0-9][a-z0-9_.-]{0,62}", re.ASCII)
_LISTED = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}", re.ASCII)
_TAKEN = {"danlu", "nobody", "root"}


def check_user_name(name: str) -> str:
    """Return a valid user name, or raise ValueError. It becomes the name of a folder in /home."""
    if not _USER.fullmatch(name):
        raise ValueError(
            "expected a user name of a lower-case letter and up to 31 lower-case letters, digits, dots, dashes and "
            f"underscores, such as ada, got {name!r}"
        )
    if name in _TAKEN:
        raise ValueError(f"{name!r} is reserved; choose another name")
    return name


def check_project_name(name: str) -> str:
    """Return a valid project name, or raise ValueError."""
    if not _PROJECT.fullmatch(name):
        raise ValueError(
            "expected a project name of up to 63 lower-case letters, digits, dots, dashes and underscores, such as "
            f"vision, got {name!r}"
        )
    return name


def check_flavor_name(name: str) -> str:
    """Return a valid flavor name, or raise ValueError."""
    return _listed(name, "a flavor", "gpu-8")


def check_framework_name(name: str) -> str:
    """Return a valid framework name, or raise ValueError."""
    return _listed(name, "a framework", "pytorch-2.13-cpu")


def _listed(name: str, noun: str, example: str) -> str:
    if not _LISTED.fullmatch(name):
        raise ValueError(
            f"expected {noun} name of up to 63 letters, digits, dots, dashes and underscores that starts with a letter "
            f"or a digit, such as {example}, got {name[:80]!r}"
        )
    return name
