"""Creates the application: the only module that wires everything."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from fastapi import FastAPI
from fastapi.concurrency import run_in_threadpool

import danlu
from danlu.scheduler.loop import Scheduler
from danlu.server import failures, pages
from danlu.server.admission.middleware import Admission, Limits
from danlu.server.alerts.routes import router as alerts_router
from danlu.server.artifacts.routes import router as artifacts_router
from danlu.server.audit.routes import router as audit_router
from danlu.server.batches.routes import router as batches_router
from danlu.server.console.route import console_route
from danlu.server.costs.routes import router as costs_router
from danlu.server.endpoints.routes import router as endpoints_router
from danlu.server.examples.routes import router as examples_router
from danlu.server.favourites.routes import router as favourites_router
from danlu.server.flavors.routes import router as flavors_router
from danlu.server.flow.routes import router as flow_router
from danlu.server.folders.routes import router as folders_router
from danlu.server.frameworks.routes import router as frameworks_router
from danlu.server.hosts import KnownHosts
from danlu.server.jobs.changes import router as changes_router
from danlu.server.jobs.routes import reasons_router
from danlu.server.jobs.routes import router as jobs_router
from danlu.server.logs.routes import router as logs_router
from danlu.server.mlflow.door import PREFIX as MLFLOW_PREFIX
from danlu.server.mlflow.routes import mlflow_door
from danlu.server.models.routes import router as models_router
from danlu.server.monitoring.middleware import Measured
from danlu.server.monitoring.routes import router as monitoring_router
from danlu.server.nodes.routes import router as nodes_router
from danlu.server.notices.routes import router as notices_router
from danlu.server.notices.worker import Teller
from danlu.server.objects.routes import router as objects_router
from danlu.server.oidc import pages as oidc_pages
from danlu.server.oidc.service import make_provider
from danlu.server.people.routes import router as people_router
from danlu.server.projects.invitation_routes import router as invitations_router
from danlu.server.projects.routes import router as projects_router
from danlu.server.quotas.routes import router as quotas_router
from danlu.server.runs.changes import router as run_changes_router
from danlu.server.runs.data_routes import router as run_data_router
from danlu.server.runs.ingestion import Ingestion
from danlu.server.runs.push_routes import router as push_router
from danlu.server.runs.routes import router as runs_router
from danlu.server.ssh_keys.routes import gateway_router
from danlu.server.ssh_keys.routes import router as ssh_keys_router
from danlu.server.state import ServerState
from danlu.server.streams.hub import Hub
from danlu.server.templates.routes import router as templates_router
from danlu.server.tencent.actions import load_actions
from danlu.server.tencent.door import Door
from danlu.server.terminals.routes import router as terminals_router
from danlu.server.trees.routes import router as trees_router
from danlu.server.uploads.routes import router as uploads_router
from danlu.server.usage.routes import router as usage_router
from danlu.server.users.routes import router as users_router
from danlu.server.viewers.routes import router as viewers_router
from danlu.server.views.routes import router as views_router
from danlu.server.webhooks.routes import router as webhooks_router
from danlu.wire.base import ErrorOut
from danlu.wire.nodes import HealthOut

PREFIX = "/api/v1"
MAX_HEAD_BYTES = 256 << 10
"""Limit of the request line and headers: a client that follows the logs of 4,096 ranks sends an offset for each."""

ROUTERS = (
    alerts_router,
    artifacts_router,
    audit_router,
    costs_router,
    batches_router,
    changes_router,
    endpoints_router,
    viewers_router,
    examples_router,
    favourites_router,
    flavors_router,
    flow_router,
    frameworks_router,
    jobs_router,
    logs_router,
    models_router,
    nodes_router,
    notices_router,
    objects_router,
    people_router,
    push_router,
    run_changes_router,
    run_data_router,  # before the runs, so that /runs/points is not taken for a run
    runs_router,
    folders_router,
    projects_router,
    invitations_router,
    quotas_router,
    templates_router,
    views_router,
    reasons_router,
    usage_router,
    ssh_keys_router,
    gateway_router,
    terminals_router,
    trees_router,
    uploads_router,
    users_router,
    webhooks_router,
)
_ERRORS: dict[int | str, dict[str, object]] = {
    "4XX": {"model": ErrorOut, "description": "What is wrong, and what is expected"},
    "5XX": {"model": ErrorOut, "description": "The server cannot do it now"},
}


def create_app(state: ServerState, scheduler: Scheduler, ready: Callable[[], None] = lambda: None) -> FastAPI:
    """Create the application. `ready` is called just before it serves requests."""

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        ingestion = Ingestion(state.database, state.metrics, state.now, trash_days=state.settings.trash_days)
        await run_in_threadpool(scheduler.start)
        teller = Teller(state)
        ingestion.start()
        teller.start()
        # what is loaded by now stays: scanning it for garbage delayed every twentieth long response
        gc.collect()
        gc.freeze()
        ready()
        yield
        await run_in_threadpool(teller.stop)
        await run_in_threadpool(ingestion.stop)
        await run_in_threadpool(scheduler.stop)

    app = FastAPI(
        title="Danlu",
        version=danlu.__version__,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=f"{PREFIX}/openapi.json",
        responses=_ERRORS,
    )
    app.state.danlu = state
    app.state.streams = Hub(state)
    failures.install(app)
    _add_middleware(app, state)
    for router in ROUTERS:  # one by one: FastAPI processes every route of a nested router again
        app.include_router(router, prefix=PREFIX)

    @app.get(f"{PREFIX}/health", tags=["server"])
    def health() -> HealthOut:
        """Open to all."""
        settings = state.settings
        return HealthOut(
            status="ok",
            version=danlu.__version__,
            registration=settings.registration,
            oidc_name=settings.oidc_name if settings.oidc_issuer else None,
        )

    app.state.oidc = make_provider(state.settings)
    app.include_router(monitoring_router)
    app.include_router(pages.router)
    app.include_router(oidc_pages.router)
    if state.settings.mlflow_door:
        door = mlflow_door(state)
        app.mount(f"{MLFLOW_PREFIX}/projects/{{project}}", door)
        app.mount(MLFLOW_PREFIX, door)
    app.router.routes.append(console_route(state.console))
    return app


def _add_middleware(app: FastAPI, state: ServerState) -> None:
    """From the innermost to the outermost."""
    settings, limits = state.settings, Limits.of(state.settings)
    app.add_middleware(Admission, state=state, limits=limits)
    app.add_middleware(KnownHosts, host=settings.host, public_url=settings.public_url)
    if settings.tencent_door:  # outside of the known hosts: its requests name hosts of the storage
        app.add_middleware(Door, state=state, actions=load_actions(), limits=limits)
    app.add_middleware(Measured, instruments=state.instruments)
