"""The datasets that runs used as inputs."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

from sqlalchemy.orm import Session

from danlu.errors import InvalidInput
from danlu.server.mlflow import experiments, runs
from danlu.server.mlflow.bodies import DatasetInput, LogInputs, SearchDatasets
from danlu.server.mlflow.door import Caller
from danlu.server.state import ServerState
from danlu.store.metrics.decode import clean
from danlu.store.queries.mlflow import records as mlflow

MAX_PER_RUN = 1000
MAX_EXPERIMENTS = 20
MAX_SUMMARIES = 1000
CONTEXT = "mlflow.data.context"


def log(session: Session, _state: ServerState, caller: Caller, body: LogInputs) -> None:
    """Store datasets; one with the same name and digest is replaced."""
    if body.datasets is None and not body.models:
        raise InvalidInput("Missing value for required parameter 'datasets'. See the API docs for more information.")
    row = runs.find_to_change(session, caller, body.run_id)
    values = {_key(one): _text(one) for one in body.datasets or ()}
    known = mlflow.texts_of(session, [row.number], mlflow.INPUT)[row.number]
    if len(known | values) > MAX_PER_RUN:
        raise InvalidInput(f"datasets: expected at most {MAX_PER_RUN} of a run, got {len(known | values)}")
    runs.put_texts(session, row, kind=mlflow.INPUT, values=values)
    row.version += 1


def search(session: Session, caller: Caller, body: SearchDatasets) -> list[dict[str, Any]]:
    """Each dataset of these experiments once, those of the newest runs first."""
    if not body.experiment_ids:
        raise InvalidInput("SearchDatasets request must specify at least one experiment_id.")
    if len(body.experiment_ids) > MAX_EXPERIMENTS:
        raise InvalidInput(
            f"SearchDatasets request cannot specify more than {MAX_EXPERIMENTS} experiment_ids. "
            f"Received {len(body.experiment_ids)} experiment_ids."
        )
    ids = {experiments.find(session, caller, one).folder: one for one in body.experiment_ids}
    project_id = caller.project_id(session)
    only = caller.only_job(project_id)
    found = mlflow.inputs_in(session, project_id, list(ids), of_job=only, limit=MAX_SUMMARIES)
    summaries = [_summary(ids[folder], json.loads(text)) for folder, text in found]
    return [dict(one) for one in dict.fromkeys(tuple(summary.items()) for summary in summaries)]


def _summary(experiment_id: str, stored: dict[str, Any]) -> dict[str, str]:
    context = next((tag["value"] for tag in stored["tags"] if tag["key"] == CONTEXT), "")
    dataset = stored["dataset"]
    found = {"experiment_id": experiment_id, "name": dataset["name"], "digest": dataset["digest"]}
    return found | ({"context": context} if context else {})


def _key(one: DatasetInput) -> str:
    return sha256(f"{one.dataset.name}\0{one.dataset.digest}".encode(errors="surrogatepass")).hexdigest()


def _text(one: DatasetInput) -> str:
    dataset = {key: clean(value) for key, value in one.dataset.model_dump(by_alias=True).items() if value}
    return json.dumps({"dataset": dataset, "tags": [{"key": clean(t.key), "value": clean(t.value)} for t in one.tags]})
