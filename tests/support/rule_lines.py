"""What many rules have in common: lines of answers, and bodies. How to read them: tests/support/rights.py"""

from __future__ import annotations

from typing import Any

from tests.support.cases import Case
from tests.support.rights import Request

SEE = {"own": "2 2 2 2 404", "others": "2 2 2 2 404", "foreign": "2 404 404 404 2", "none": "404 404 404 404 404"}
CHANGE_JOB = {
    "own": "2 2 2 403 404",
    "others": "2 2 403 403 404",
    "foreign": "2 404 404 404 2",
    "none": "404 404 404 404 404",
}
OWN_PROJECT = {"others": "2 2 403 403 404", "foreign": "2 404 404 404 2", "none": "404 404 404 404 404"}
ADMIN_ONLY = {"own": "2 403 403 403 403", "others": "2 403 403 403 403", "none": "404 403 403 403 403"}
UPLOAD = {"own": "2 2 2 2 2 2 2", "others": "404 404 404 404 404 404 404", "none": "404 404 404 404 404 404 404"}
WRITE_RUN = {
    "own": "2 2 2 403 404 2 404",
    "others": "2 2 403 403 404 404 404",
    "foreign": "2 404 404 404 2 404 404",
    "none": "404 404 404 404 404 404 404",
}
USE_MODEL = {**SEE, "own": "2 2 2 403 404", "others": "2 2 2 403 404"}
SEE_RUN = {
    "own": "2 2 2 2 404 2 404",
    "others": "2 2 2 2 404 404 404",
    "foreign": "2 404 404 404 2 404 404",
    "none": "404 404 404 404 404 404 404",
}
SEND_ARTIFACT = {
    "own": "2 2 2 403 404 2 404",
    "others": "404 404 404 404 404 404 404",
    "foreign": "404 404 404 404 404 404 404",
    "none": "404 404 404 404 404 404 404",
}
INVITATION = {"own": "2 2 2 2 2", "others": "404 404 404 404 404", "none": "404 404 404 404 404"}
LOOK_UP = {"others": "2 2 2 2 2", "none": "404 404 404 404 404"}
OFFER = {"others": "2 403 403 403 403", "none": "404 403 403 403 403"}
NOT_THERE = dict.fromkeys(SEE, "404 404 404 404 404")
OPEN = {"any": "2 2 2 2 2 2 2"}
SSH_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIC4eFR0lBdYxIUbvyAONYoZ+ZgnJPPVJoAWUzJmJ6B3N test"


def body(**values: Any) -> Request:
    return lambda _case: {"json": values}


def spec_in(case: Case) -> dict[str, Any]:
    project = {"foreign": "other", "none": "nothing"}.get(case.relation, "vision")
    return {"json": {"spec": {"name": "new", "command": "x", "project": project}}}
