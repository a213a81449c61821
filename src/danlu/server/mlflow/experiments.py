"""The rules of experiments: folders of runs, with tags."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from danlu.auth import rights
from danlu.errors import AlreadyExists, InvalidInput, NotAllowed, NotFound
from danlu.server.audit.service import record_action
from danlu.server.flow import recording as flow
from danlu.server.folders.service import folder_in
from danlu.server.mlflow.bodies import CreateExperiment, ExperimentTag, SearchExperiments, Tag
from danlu.server.mlflow.door import Caller
from danlu.server.mlflow.tokens import offset_in, token_of
from danlu.server.state import ServerState
from danlu.spec.audit import Action
from danlu.store.metrics.decode import clean
from danlu.store.queries import run_folders
from danlu.store.queries.mlflow import records as mlflow
from danlu.store.queries.mlflow.filter import Comparison, parse_filter, parse_order
from danlu.store.queries.mlflow.patterns import matches
from danlu.store.sql.mlflow_tables import ExperimentRow

DEFAULT_NAME = "Default"
DEFAULT_ID = "0"
"""The experiment of runs that are in no folder."""

MAX_EXPERIMENTS = 10_000


def is_any_missing(session: Session, caller: Caller) -> bool:
    """Whether a folder has no experiment yet: other clients create folders."""
    project_id = caller.project_id(session)
    is_default_there = mlflow.experiment_of(session, project_id, "") is not None
    return not is_default_there or bool(mlflow.folders_without_experiment(session, project_id, limit=1))


def make_missing(session: Session, state: ServerState, caller: Caller) -> None:
    """Create the experiments that are missing: one for each folder, and one for runs in no folder."""
    project_id = caller.project_id(session)
    missing = ["", *mlflow.folders_without_experiment(session, project_id, limit=MAX_EXPERIMENTS)]
    for folder in missing:
        if mlflow.experiment_of(session, project_id, folder) is None:
            mlflow.make_experiment(session, project_id, folder, at=state.now())


def find(session: Session, caller: Caller, experiment_id: str) -> ExperimentRow:
    """The experiment of that id in the caller's project, deleted or not."""
    project_id = caller.project_id(session)
    is_number = experiment_id.isascii() and experiment_id.isdigit() and len(experiment_id) < 16
    if experiment_id == DEFAULT_ID:
        row = mlflow.experiment_of(session, project_id, "")
    else:
        row = mlflow.experiment(session, project_id, int(experiment_id)) if is_number else None
    if row is None:
        raise NotFound(f"No Experiment with id={experiment_id[:40]} exists")
    return row


def find_by_name(session: Session, caller: Caller, name: str) -> ExperimentRow:
    known = mlflow.experiment_of(session, caller.project_id(session), _folder(name))
    if known is None:
        raise NotFound(f"Could not find experiment with name '{name[:200]}'")
    return known


def create(session: Session, state: ServerState, caller: Caller, body: CreateExperiment) -> str:
    """Return the id of the new experiment."""
    project_id = _project_to_use(session, caller)
    folder = _folder(body.name)
    known = mlflow.experiment_of(session, project_id, folder)
    if known is not None and known.deleted_at is not None:
        raise AlreadyExists(
            f"Experiment '{body.name}' already exists in deleted state. You can restore the experiment, or permanently "
            "delete the experiment to create a new one."
        )
    if known is not None or run_folders.exists(session, project_id, folder):
        raise AlreadyExists(f"Experiment(name={body.name}) already exists.")
    row = mlflow.make_experiment(session, project_id, folder, at=state.now())
    row.tags = _tags(body.tags)
    _record(session, state, caller, Action.FOLDER_MAKE, row)
    return id_of(row)


def search(session: Session, caller: Caller, body: SearchExperiments) -> tuple[list[ExperimentRow], str | None]:
    """A page of experiments, and the token of the next one."""
    project_id = caller.project_id(session)
    tests = parse_filter(body.filter)
    only = caller.only_job(project_id)
    own = None if only is None else {"", *mlflow.folders_of_job(session, project_id, only)}
    found = [
        row
        for row in mlflow.experiments_of(session, project_id)
        if (own is None or row.folder in own)
        and _is_viewed(row, body.view_type)
        and all(_passes(row, test) for test in tests)
    ]
    for text in reversed(body.order_by):
        order = parse_order(text)
        found.sort(key=_sort_key(order.key), reverse=not order.is_ascending)
    offset = offset_in(body.page_token)
    page = found[offset : offset + body.max_results]
    is_more = offset + len(page) < len(found)
    return page, token_of(offset + len(page)) if is_more else None


def rename(session: Session, state: ServerState, caller: Caller, experiment_id: str, name: str) -> None:
    row = find(session, caller, experiment_id)
    folder = _folder(name)
    _check_change(session, caller, row)
    if row.folder == "" or row.deleted_at is not None:
        raise InvalidInput(f"Experiment '{name_of(row)}' cannot be renamed")
    if folder == row.folder:
        return
    if run_folders.exists(session, row.project_id, folder) or mlflow.experiment_of(session, row.project_id, folder):
        raise AlreadyExists(f"Experiment(name={name}) already exists.")
    before, row.folder, row.updated_at = row.folder, folder, state.now()
    run_folders.move(session, row.project_id, before, folder, state.now())
    _record(session, state, caller, Action.FOLDER_MOVE, row, to=folder)


def delete(session: Session, state: ServerState, caller: Caller, experiment_id: str) -> None:
    """Delete an experiment, and move its runs to the trash."""
    row = find(session, caller, experiment_id)
    _check_change(session, caller, row)
    if row.deleted_at is not None:
        raise NotFound(f"No Experiment with id={id_of(row)} exists in active state")
    if row.folder == "":
        raise InvalidInput("the default experiment cannot be deleted; delete its runs")
    row.deleted_at = row.updated_at = state.now()
    flow.runs_deleted(session, mlflow.run_ids_in(session, row.project_id, row.folder), row.deleted_at)
    mlflow.trash_runs_in(session, row.project_id, row.folder, at=row.deleted_at)
    _record(session, state, caller, Action.FOLDER_DELETE, row)


def restore(session: Session, state: ServerState, caller: Caller, experiment_id: str) -> None:
    """Restore an experiment, and the runs that were moved to the trash with it."""
    row = find(session, caller, experiment_id)
    _check_change(session, caller, row)
    if row.deleted_at is None:
        raise NotFound(f"No Experiment with id={id_of(row)} exists in deleted state")
    run_folders.make(session, row.project_id, row.folder, state.now())
    for run in mlflow.trashed_at(session, row.project_id, row.folder, at=row.deleted_at):
        run.deleted_at, run.version = None, run.version + 1
        flow.run_made(session, run, state.now())
    row.deleted_at, row.updated_at = None, state.now()
    _record(session, state, caller, Action.FOLDER_MAKE, row)


def set_tag(session: Session, state: ServerState, caller: Caller, body: ExperimentTag) -> None:
    row = find(session, caller, body.experiment_id)
    _check_use(caller, row)
    row.tags, row.updated_at = {**row.tags, clean(body.key): clean(body.value)}, state.now()


def delete_tag(session: Session, state: ServerState, caller: Caller, experiment_id: str, key: str) -> None:
    row = find(session, caller, experiment_id)
    _check_use(caller, row)
    if key not in row.tags:
        raise NotFound(f"No tag with name: {key} in experiment with id {id_of(row)}")
    row.tags, row.updated_at = {name: value for name, value in row.tags.items() if name != key}, state.now()


def experiment_out(row: ExperimentRow) -> dict[str, Any]:
    return {
        "experiment_id": id_of(row),
        "name": name_of(row),
        "artifact_location": f"mlflow-artifacts:/{id_of(row)}",
        "lifecycle_stage": stage_of(row.deleted_at),
        "creation_time": milliseconds(row.created_at),
        "last_update_time": milliseconds(row.updated_at),
        "tags": [{"key": key, "value": value} for key, value in sorted(row.tags.items())],
    }


def id_of(row: ExperimentRow) -> str:
    return str(row.number) if row.folder else DEFAULT_ID


def name_of(row: ExperimentRow) -> str:
    return row.folder or DEFAULT_NAME


def stage_of(deleted_at: datetime | None) -> str:
    return "active" if deleted_at is None else "deleted"


def milliseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


def _folder(name: str) -> str:
    return "" if name == DEFAULT_NAME else folder_in("name", name)


def _tags(tags: Sequence[Tag]) -> dict[str, str]:
    return {clean(tag.key): clean(tag.value) for tag in tags}


def _project_to_use(session: Session, caller: Caller) -> int:
    project_id = caller.project_id(session)
    check_project(caller, project_id)
    return project_id


def _check_use(caller: Caller, row: ExperimentRow) -> None:
    check_project(caller, row.project_id)


def check_project(caller: Caller, project_id: int) -> None:
    actor = rights.actor_of(caller.who)
    if actor is None or not rights.can_use_project(actor, project_id):
        raise NotAllowed("you may view this project but not add to it; ask an owner of it")


def _check_change(session: Session, caller: Caller, row: ExperimentRow) -> None:
    """Only owners of the project, or of every run in the folder, may change it."""
    _check_use(caller, row)
    actor = rights.actor_of(caller.who)
    assert actor is not None  # checked above
    if rights.can_own_project(actor, row.project_id):
        return
    if mlflow.owners_in(session, row.project_id, row.folder) - {actor.user_id}:
        raise NotAllowed(f"experiment '{name_of(row)}' has runs of others; ask an owner of the project")


def _record(
    session: Session, state: ServerState, caller: Caller, action: Action, row: ExperimentRow, **details: str
) -> None:
    thing = f"folder/{row.folder}"
    record_action(session, caller.who, action, thing, at=state.now(), project_id=row.project_id, **details)


def _is_viewed(row: ExperimentRow, view: str) -> bool:
    if view == "ALL":
        return True
    return (row.deleted_at is not None) == (view == "DELETED_ONLY")


def _passes(row: ExperimentRow, test: Comparison) -> bool:
    if test.kind == "tag":
        return compares(row.tags.get(test.key), test)
    known = {
        "name": name_of(row),
        "experiment_id": id_of(row),
        "creation_time": milliseconds(row.created_at),
        "last_update_time": milliseconds(row.updated_at),
    }
    if test.kind != "attribute" or test.key not in known:
        raise InvalidInput(f"Invalid attribute key '{test.key}' specified. Valid keys are {', '.join(known)}")
    return compares(known[test.key], test)


def compares(value: Any, test: Comparison) -> bool:
    if test.sign in ("IS NULL", "IS NOT NULL"):
        return (value is None) == (test.sign == "IS NULL")
    if value is None:
        return False
    if test.sign == "LIKE":
        return matches(str(value), str(test.value))
    if test.sign == "ILIKE":
        return matches(str(value).lower(), str(test.value).lower())
    signs: dict[str, Callable[[], bool]] = {
        "=": lambda: value == test.value,
        "!=": lambda: value != test.value,
        "<": lambda: value < test.value,
        "<=": lambda: value <= test.value,
        ">": lambda: value > test.value,
        ">=": lambda: value >= test.value,
        "IN": lambda: isinstance(test.value, tuple) and value in test.value,
        "NOT IN": lambda: isinstance(test.value, tuple) and value not in test.value,
    }
    return signs[test.sign]()


def _sort_key(key: str) -> Callable[[ExperimentRow], Any]:
    keys: dict[str, Callable[[ExperimentRow], Any]] = {
        "name": name_of,
        "experiment_id": lambda row: row.number,
        "creation_time": lambda row: row.created_at,
        "last_update_time": lambda row: row.updated_at,
    }
    if key not in keys:
        raise InvalidInput(f"Invalid order_by entity '{key}'. Valid keys are {', '.join(keys)}")
    return keys[key]
