"""The MLflow application, and the project that a request addresses.

<server>/compat/mlflow                  the caller's default project
<server>/compat/mlflow/projects/NAME    that project
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.responses import PlainTextResponse
from sqlalchemy.orm import Session

from danlu.auth import rights
from danlu.auth.identity import Identity, JobIdentity, UserIdentity
from danlu.errors import NotAllowed
from danlu.server.identity import CurrentIdentity
from danlu.server.mlflow import failures
from danlu.server.scope import find_project, project_to_use
from danlu.server.state import ServerState
from danlu.spec.job import JobAccess
from danlu.store.queries import people

PREFIX = "/compat/mlflow"
API = "/api/2.0"
PAGES_API = "/ajax-api/2.0"
"""The same API, at the path that MLflow's web pages use."""

NEWER_API = "/api/3.0"
NEWER_PAGES_API = "/ajax-api/3.0"

VERSION = "3.3.0"
"""The version that this API reports: newer clients then use fewer features."""


class Caller(NamedTuple):
    """The caller, and the project that they address."""

    who: Identity
    project: str | None
    """The project in the address; None: the default project."""

    def project_id(self, session: Session) -> int:
        """The project that is addressed, if the caller may see it."""
        if isinstance(self.who, JobIdentity):
            if self.project not in (None, people.projects_by_id(session)[self.who.project_id]):
                raise NotAllowed(f"a job uses the door of its own project, not of {self.project!r}")
            return self.who.project_id
        if self.project is not None:
            return find_project(session, self.who, self.project).id
        return project_to_use(session, self.who)

    def only_job(self, project_id: int) -> str | None:
        """The job that the caller's view is limited to; None: the caller sees all runs of the project."""
        sees_all = rights.can_see_run(self.who, project_id=project_id, job_id=None)
        return None if sees_all or not isinstance(self.who, JobIdentity) else self.who.job_id


def reader_of(caller: Caller) -> UserIdentity:
    """The user whose rights apply to reading anything but runs."""
    who = caller.who
    return rights.check_acts(who, JobAccess.READ) if isinstance(who, JobIdentity) else who


def actor_of(caller: Caller) -> UserIdentity:
    """The user whose rights apply to changing anything but runs."""
    who = caller.who
    return rights.check_acts(who, JobAccess.OWNER) if isinstance(who, JobIdentity) else who


async def _caller(request: Request, who: CurrentIdentity) -> Caller:
    return Caller(who, request.path_params.get("project"))


CurrentCaller = Annotated[Caller, Depends(_caller)]


def create_door(
    state: ServerState, routers: tuple[APIRouter, ...], *, newer: APIRouter, root: tuple[APIRouter, ...]
) -> FastAPI:
    door = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    door.state.danlu = state
    failures.install(door)
    for router in routers:
        door.include_router(router, prefix=API)
        door.include_router(router, prefix=PAGES_API)
    door.include_router(newer, prefix=NEWER_API)
    door.include_router(newer, prefix=NEWER_PAGES_API)
    for router in root:
        door.include_router(router)

    @door.get("/health")
    async def health() -> PlainTextResponse:
        return PlainTextResponse("OK")

    @door.get("/version")
    async def version() -> PlainTextResponse:
        return PlainTextResponse(VERSION)

    return door
