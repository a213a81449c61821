"""Errors of which the original's manual and its code tell different classes: ours are both."""

from __future__ import annotations


class NotARun(OSError, RuntimeError):
    """No Run at this path: RuntimeError by the manual, OSError by the code."""


class NotAnArtifact(OSError, RuntimeError):
    """No Artifact at this path, likewise."""


class CannotConnect(ConnectionError, RuntimeError):
    """No server answers. Of requests' class as well where requests is there, because scripts catch that."""


def cannot_connect(message: str) -> Exception:
    try:
        from requests import exceptions
    except ImportError:
        return CannotConnect(message)
    both = type("CannotConnect", (CannotConnect, exceptions.ConnectionError), {})
    return both(message)  # type: ignore[no-any-return]
