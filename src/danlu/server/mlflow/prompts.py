"""Prompts that were tried on MLflow's page for them: each is a run with the answer as a table."""

from __future__ import annotations

import json

from sqlalchemy.orm import Session

from danlu.errors import InvalidInput
from danlu.server.mlflow import runs
from danlu.server.mlflow.bodies import CreateRun, LogBatch, LogPrompt, Param, Tag
from danlu.server.mlflow.door import Caller
from danlu.server.state import ServerState

TABLE = "eval_results_table.json"
REQUIRED = (
    *("experiment_id", "prompt_template", "prompt_parameters", "model_route", "model_input"),
    "mlflow_version",
)
_TAGS = (
    Tag(key="mlflow.loggedArtifacts", value=json.dumps([{"path": TABLE, "type": "table"}])),
    Tag(key="mlflow.runSourceType", value="PROMPT_ENGINEERING"),
)


def check(body: LogPrompt) -> None:
    for name in REQUIRED:
        if not getattr(body, name):
            raise InvalidInput(f"CreatePromptlabRun request must specify {name}.")


def create(session: Session, state: ServerState, caller: Caller, body: LogPrompt) -> str:
    """Return the id of the run, with its parameters and tags."""
    made = CreateRun(
        experiment_id=body.experiment_id,
        run_name=body.run_name,
        start_time=body.start_time,
        user_id=body.user_id,
        tags=body.tags,
    )
    row = runs.create(session, state, caller, made)
    given = {"model_route": body.model_route, "prompt_template": body.prompt_template}
    params = {**{one.key: one.value for one in body.model_parameters}, **given}
    batch = [Param(key=key, value=value) for key, value in params.items()]
    runs.take_batch(session, state, caller, LogBatch(run_id=row.id, params=batch, tags=[*_TAGS]))
    return row.id


def table_of(body: LogPrompt) -> bytes:
    """One row: the parameters of the prompt, the prompt, the answer, and what is known of it."""
    columns = {
        **{one.key: one.value for one in body.prompt_parameters},
        "prompt": body.model_input,
        "output": body.model_output,
        **{one.key: one.value for one in body.model_output_parameters},
    }
    return json.dumps({"columns": [*columns], "data": [[*columns.values()]]}).encode()
