"""All routes behind the door."""

from __future__ import annotations

from fastapi import FastAPI

from danlu.server.mlflow.door import create_door
from danlu.server.mlflow.experiment_routes import router as experiments
from danlu.server.mlflow.file_routes import router as files
from danlu.server.mlflow.graphql.routes import router as graphql
from danlu.server.mlflow.logged_model_routes import router as logged_models
from danlu.server.mlflow.page_routes import root_router
from danlu.server.mlflow.page_routes import router as pages
from danlu.server.mlflow.registry_routes import router as registry
from danlu.server.mlflow.run_routes import router as runs
from danlu.server.mlflow.traces.routes import router as traces
from danlu.server.mlflow.traces.routes import whole_router as whole_traces
from danlu.server.state import ServerState


def mlflow_door(state: ServerState) -> FastAPI:
    routers = (experiments, runs, files, logged_models, registry, traces, pages)
    return create_door(state, routers, newer=whole_traces, root=(root_router, graphql))
