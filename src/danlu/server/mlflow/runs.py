"""The rules of runs for MLflow's clients."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from sqlalchemy.orm import Session

from danlu.errors import InvalidInput, NotFound
from danlu.journal import new_run_id
from danlu.server.mlflow import experiments
from danlu.server.mlflow.bodies import CreateRun, LogBatch, LogModel, Param, Tag
from danlu.server.mlflow.door import Caller
from danlu.server.mlflow.points import JOURNAL, number_in
from danlu.server.runs import service
from danlu.server.state import ServerState
from danlu.spec.runs import RUN_ID, RunState
from danlu.store.metrics.decode import clean
from danlu.store.metrics.ingest import put_values
from danlu.store.queries import people
from danlu.store.queries.mlflow import records as mlflow
from danlu.store.sql.run_tables import RunRow
from danlu.wire.runs import ChangeRun
from danlu.wire.runs import CreateRun as MakeRun

STATUSES = {
    "RUNNING": (RunState.RUNNING,),
    "SCHEDULED": (RunState.RUNNING,),
    "FINISHED": (RunState.FINISHED,),
    "FAILED": (RunState.FAILED, RunState.DIED),
    "KILLED": (RunState.STOPPED,),
}
"""MLflow's status -> the states of Danlu that it means."""

RUN_NAME, NOTE, USER, PARENT = "mlflow.runName", "mlflow.note.content", "mlflow.user", "mlflow.parentRunId"
UNKNOWN_USER = "unknown"
"""Sent by clients that do not know: the owner of the run is better."""

MODEL_HISTORY = "mlflow.log-model.history"
MAX_HISTORY_CHARS = 1 << 20
MAX_TEXT_CHARS = 8 << 20
"""Limit of all tags, parameters and datasets of a run: a client that reads the run gets all of them."""

_KEY = re.compile(r"[/\w.\- :]+")


def create(session: Session, state: ServerState, caller: Caller, body: CreateRun) -> RunRow:
    experiment = experiments.find(session, caller, body.experiment_id)
    if experiment.deleted_at is not None:
        raise InvalidInput(f"The experiment {body.experiment_id} must be in the 'active' state")
    tags = {tag.key: tag.value for tag in body.tags}
    run_id = new_run_id()
    given = body.run_name or tags.get(RUN_NAME, "")
    if body.run_name and tags.get(RUN_NAME, body.run_name) != body.run_name:
        raise InvalidInput(
            f"Both 'run_name' argument and 'mlflow.runName' tag are specified, but with different values "
            f"(run_name='{body.run_name}', mlflow.runName='{tags[RUN_NAME]}')."
        )
    made = MakeRun(
        run=run_id,
        name=given[:200].strip() or f"run-{run_id[-6:]}",
        created_at=None if body.start_time is None else body.start_time / 1000,
        project=people.projects_by_id(session)[experiment.project_id],
        folder=experiment.folder,
    )
    row = service.create(session, state, caller.who, made)
    is_named = body.user_id not in ("", UNKNOWN_USER) and USER not in tags
    named = [Tag(key=USER, value=body.user_id)] if is_named else []
    _put_tags(session, state, caller, row, [*body.tags, *named])
    return row


def find(session: Session, caller: Caller, run_id: str) -> RunRow:
    """The run with this id in the caller's project."""
    row = service.find(session, caller.who, run_id) if run_id.startswith("run-") else None
    if row is None or row.id != run_id or row.project_id != caller.project_id(session):
        raise NotFound(f"Run with id={run_id[:80]} not found")
    return row


def find_to_change(session: Session, caller: Caller, run_id: str, *, is_active: bool = True) -> RunRow:
    row = find(session, caller, run_id)
    if is_active and row.deleted_at is not None:
        raise InvalidInput(f"The run {row.id} must be in the 'active' state. Current state is deleted.")
    return service.find_to_change(session, caller.who, row.id)


def take_batch(session: Session, state: ServerState, caller: Caller, body: LogBatch) -> RunRow:
    """Check a whole batch, and store its tags and parameters. Return the run that its metrics belong to."""
    row = find_to_change(session, caller, body.run)
    for metric in body.metrics:
        _check_key("metric", metric.key)
        number_in(metric)
    _put_params(session, row, body.params)
    _put_tags(session, state, caller, row, body.tags)
    return row


def log_model(session: Session, _state: ServerState, caller: Caller, body: LogModel) -> None:
    """Add to the list of models that older clients keep in a tag."""
    row = find_to_change(session, caller, body.run)
    model = _json("Malformed model info. model_json", body.model_json)
    # any user who may change the run may have set the tag to anything
    tags = mlflow.texts_of(session, [row.number], mlflow.TAG)[row.number]
    known = _json(MODEL_HISTORY, tags.get(MODEL_HISTORY, "[]"))
    if not isinstance(known, list):
        raise InvalidInput(f"{MODEL_HISTORY}: expected a list as JSON in this tag, got {str(known)[:80]!r}")
    value = json.dumps([*known, model])
    if len(value) > MAX_HISTORY_CHARS:
        raise InvalidInput(f"{MODEL_HISTORY}: expected at most {MAX_HISTORY_CHARS} characters, got {len(value)}")
    put_texts(session, row, kind=mlflow.TAG, values={MODEL_HISTORY: value})
    row.version += 1


def _json(what: str, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{what}: expected JSON, got {text[:80]!r}") from error


def rename(session: Session, state: ServerState, caller: Caller, row: RunRow, name: str) -> None:
    if name.strip() and name != row.name:
        service.change(session, state, caller.who, row.id, ChangeRun(name=name[:200]))


def reopen(session: Session, row: RunRow) -> None:
    mlflow.reopen(session, row, JOURNAL)
    row.state, row.ended_at = RunState.RUNNING.value, None


def delete_tag(session: Session, caller: Caller, run_id: str, key: str) -> None:
    row = find_to_change(session, caller, run_id)
    is_parent = key == PARENT and row.parent is not None
    if not mlflow.delete_text(session, row.number, kind=mlflow.TAG, key=key) and not is_parent:
        raise NotFound(f"No tag with name: {key} in run with id {row.id}")
    if is_parent:
        row.parent = None
    row.version += 1


def end_of(status: str) -> RunState | None:
    """The final state for a status; None while the run continues."""
    if status not in STATUSES:
        raise InvalidInput(f"status: expected one of {', '.join(STATUSES)}, got {status!r}")
    state = STATUSES[status][0]
    return None if state is RunState.RUNNING else state


def moment(milliseconds: int | None, otherwise: datetime) -> datetime:
    return otherwise if milliseconds is None else datetime.fromtimestamp(milliseconds / 1000, timezone.utc)


def put_texts(session: Session, row: RunRow, *, kind: str, values: Mapping[str, str]) -> None:
    mlflow.put_texts(session, row.number, kind=kind, values=values)
    num_chars = mlflow.num_chars(session, [row.number])[row.number]
    if num_chars > MAX_TEXT_CHARS:
        raise InvalidInput(
            f"expected at most {MAX_TEXT_CHARS} characters in all tags, parameters and data sets of the run {row.id}, "
            f"got {num_chars}"
        )


def _put_tags(session: Session, state: ServerState, caller: Caller, row: RunRow, tags: Sequence[Tag]) -> None:
    values = {}
    for tag in tags:
        _check_key("tag", tag.key)
        values[clean(tag.key)] = clean(tag.value)
    if RUN_NAME in values:
        rename(session, state, caller, row, values.pop(RUN_NAME))
    if NOTE in values:
        row.description = values.pop(NOTE)
    if PARENT in values:
        # the id of a run elsewhere stays a tag: clients that import name runs of another server
        parent = values[PARENT]
        row.parent = parent if re.fullmatch(RUN_ID, parent) and parent != row.id else None
    if values:
        put_texts(session, row, kind=mlflow.TAG, values=values)
    if tags:
        row.version += 1


def _put_params(session: Session, row: RunRow, params: Sequence[Param]) -> None:
    """A parameter keeps its first value."""
    if not params:
        return
    known = mlflow.texts_of(session, [row.number], mlflow.PARAM)[row.number]
    for param in params:
        _check_key("param", param.key)
        key, value = clean(param.key), clean(param.value)
        if known.setdefault(key, value) != value:
            raise InvalidInput(
                f"Changing param values is not allowed. Param with key='{key}' was already logged with "
                f"value='{known[key]}' for run ID='{row.id}'. Attempted logging new value '{value}'."
            )
    put_texts(session, row, kind=mlflow.PARAM, values=known)
    row.hparams = {**row.hparams, **{key: _typed(value) for key, value in known.items()}}
    put_values(session, row.number, "hparams", row.hparams)
    row.version += 1


def _typed(text: str) -> Any:
    """A number or a boolean if it would be written as this text, so that Danlu can compare it."""
    if text in ("True", "False"):
        return text == "True"
    for kind in (int, float):
        try:
            value = kind(text)
        except ValueError:
            continue
        if str(value) == text and abs(value) < 2**53:
            return value
    return text


def _check_key(noun: str, key: str) -> None:
    parts = key.split("/")
    is_path = all(part not in ("", ".", "..") for part in parts)
    if _KEY.fullmatch(key) is None or not is_path:
        raise InvalidInput(
            f"Invalid value \"{key[:100]}\" for parameter '{noun}s' supplied: Names may only contain alphanumerics, "
            "underscores (_), dashes (-), periods (.), spaces ( ), colon(:) and slashes (/), and no empty part, "
            "'.' or '..' between slashes."
        )
