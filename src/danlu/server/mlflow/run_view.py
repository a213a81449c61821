"""Runs in the shape of MLflow's messages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy.orm import Session

from danlu.server.mlflow.experiments import DEFAULT_ID, id_of, milliseconds, stage_of
from danlu.server.mlflow.points import latest_out
from danlu.server.mlflow.runs import NOTE, PARENT, RUN_NAME, STATUSES, USER
from danlu.spec.runs import RunState, flatten
from danlu.store.queries.mlflow import records as mlflow
from danlu.store.sql.run_tables import RunRow, SeriesRow

_STATUS_OF = {state: status for status, states in reversed(STATUSES.items()) for state in states}


class Surroundings(NamedTuple):
    """Data that belongs to several runs, loaded together."""

    tags: dict[int, dict[str, str]]
    params: dict[int, dict[str, str]]
    series: dict[int, list[SeriesRow]]
    owners: dict[int, str]
    experiments: dict[str, str]
    """Folder -> id."""

    models: dict[str, list[str]]
    inputs: dict[int, dict[str, str]]
    """Run -> its datasets as JSON."""


def surroundings_of(session: Session, project_id: int, rows: Sequence[RunRow]) -> Surroundings:
    """Load for runs of one project."""
    numbers = [row.number for row in rows]
    known = mlflow.experiments_at(session, project_id, list({row.folder for row in rows}))
    return Surroundings(
        tags=mlflow.texts_of(session, numbers, mlflow.TAG),
        params=mlflow.texts_of(session, numbers, mlflow.PARAM),
        series=mlflow.series_of(session, numbers),
        owners=mlflow.owner_names(session, [row.owner_id for row in rows]),
        experiments={folder: id_of(row) for folder, row in known.items()},
        models=mlflow.models_of_run(session, project_id, [row.id for row in rows]),
        inputs=mlflow.texts_of(session, numbers, mlflow.INPUT),
    )


def run_out(row: RunRow, around: Surroundings) -> dict[str, Any]:
    tags = {**around.tags[row.number], RUN_NAME: row.name}
    if row.description:
        tags[NOTE] = row.description
    if row.parent:
        tags[PARENT] = row.parent
    params = {key: str(value) for key, value in flatten(row.hparams).items()} | around.params[row.number]
    return {
        "info": info_out(row, around),
        "data": {
            "metrics": [latest_out(series) for series in around.series[row.number] if series.num_points],
            "params": _pairs(params),
            "tags": _pairs(tags),
        },
        "inputs": {"dataset_inputs": [json.loads(text) for text in around.inputs[row.number].values()]},
        "outputs": {"model_outputs": [{"model_id": model, "step": 0} for model in around.models.get(row.id, ())]},
    }


def info_out(row: RunRow, around: Surroundings) -> dict[str, Any]:
    info = {
        "run_id": row.id,
        "run_uuid": row.id,
        "run_name": row.name,
        "experiment_id": around.experiments.get(row.folder, DEFAULT_ID),
        # the user that the script names; the run's owner in Danlu never depends on it
        "user_id": around.tags[row.number].get(USER) or around.owners.get(row.owner_id, ""),
        "status": _STATUS_OF[RunState(row.state)],
        "start_time": milliseconds(row.started_at),
        "artifact_uri": artifact_uri(row.id),
        "lifecycle_stage": stage_of(row.deleted_at),
    }
    return info if row.ended_at is None else info | {"end_time": milliseconds(row.ended_at)}


def artifact_uri(run_id: str) -> str:
    return f"mlflow-artifacts:/runs/{run_id}"


def _pairs(values: dict[str, str]) -> list[dict[str, str]]:
    return [{"key": key, "value": value} for key, value in sorted(values.items())]
