"""Errors whose classes differ between the original's manual and its code: here they have both."""

from __future__ import annotations


class NotARun(OSError, RuntimeError):
    """No Run at this path: RuntimeError in the manual, OSError in the code."""


class NotAnArtifact(OSError, RuntimeError):
    """No Artifact at this path; same classes."""


class NoFolder(ValueError):
    """The folder for uploads does not exist."""


class CannotConnect(ConnectionError, RuntimeError):
    """The server does not answer. Also has the class of requests, if installed, because scripts catch that."""


def cannot_connect(message: str) -> Exception:
    try:
        from requests import exceptions
    except ImportError:
        return CannotConnect(message)
    both = type("CannotConnect", (CannotConnect, exceptions.ConnectionError), {})
    return both(message)  # type: ignore[no-any-return]
