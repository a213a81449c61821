"""All routes behind the door."""

from __future__ import annotations

from fastapi import FastAPI

from danlu.server.mlflow.door import create_door
from danlu.server.mlflow.experiment_routes import router as experiments
from danlu.server.mlflow.run_routes import router as runs
from danlu.server.state import ServerState


def mlflow_door(state: ServerState) -> FastAPI:
    return create_door(state, (experiments, runs))
