"""Old names of experiment management. Runs are written in the old layout and uploaded to a Danlu server.

Artifacts are not there yet: `create_artifact` and `load_artifact` say so.
"""

from __future__ import annotations

from typing import Any

from t9k.em.begin import create_run, load_run
from t9k.em.remote import login, logout
from t9k.em.upload import upload

__all__ = ["create_artifact", "create_run", "load_artifact", "load_run", "login", "logout", "upload"]


def create_artifact(name: str, labels: Any = None, description: str = "") -> Any:
    """Raise: Danlu has no Artifacts yet."""
    raise NotImplementedError("em.create_artifact: Danlu has no Artifacts yet; keep the file in the output folder")


def load_artifact(path: str) -> Any:
    """Raise: Danlu has no Artifacts yet."""
    raise NotImplementedError("em.load_artifact: Danlu has no Artifacts yet; read the file from the store")
