"""Old names of experiment management. Runs and artifacts have the old layout on disk and are sent to a Danlu server."""

from __future__ import annotations

from t9k.em.artifact import create_artifact, load_artifact
from t9k.em.begin import create_run, load_run
from t9k.em.remote import login, logout
from t9k.em.upload import upload

__all__ = ["create_artifact", "create_run", "load_artifact", "load_run", "login", "logout", "upload"]
