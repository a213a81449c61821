"""The values of fields: what the routes beside this answer, in the words of GraphQL."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from graphql import GraphQLResolveInfo, get_named_type, is_list_type
from pydantic import BaseModel, ValidationError

from danlu.errors import InvalidInput
from danlu.server.mlflow import datasets, experiments, files, found_runs, histories, operations, registry
from danlu.server.mlflow.bodies import NamedRun, SearchDatasets, SearchRuns
from danlu.server.mlflow.door import Caller
from danlu.server.mlflow.graphql.limits import MAX_POINTS, MAX_RUNS, Budget
from danlu.server.mlflow.run_view import artifact_uri
from danlu.server.state import ServerState

Given = dict[str, Any]
Body = TypeVar("Body", bound=BaseModel)
DEFAULTS: dict[str, Any] = {"String": "", "LongString": "0", "Boolean": False}
"""Values of fields that have none, as in protocol buffers."""


@dataclass
class Asked:
    """One query: whose it is, and what it found so far."""

    state: ServerState
    caller: Caller
    budget: Budget
    experiments: dict[str, Given] = field(default_factory=dict)

    def read(self, function: Callable[..., Any], *args: Any) -> Any:
        self.budget.look_up()
        return operations.read(self.state, self.caller, function, *args)


def resolve(source: Any, info: GraphQLResolveInfo[Any], **given: Any) -> Any:
    """The value of any field that the schema names."""
    asked: Asked = info.context
    special = _RESOLVERS.get((info.parent_type.name, info.field_name))
    if special is not None:
        return special(asked, given.get("input", given)) if source is None else special(asked, source)
    value = source.get(_snake(info.field_name))
    kind = get_named_type(info.return_type).name
    if value is None:
        return [] if is_list_type(info.return_type) else DEFAULTS.get(kind)
    if kind == "LongString":
        return str(value)  # JavaScript has no integers of 64 bits
    if kind == "Float" and isinstance(value, str):
        return None  # JSON has no NaN and no infinity
    return value


def _get_experiment(asked: Asked, given: Given) -> Given:
    return {"experiment": _experiment(asked, str(given.get("experimentId") or ""))}


def _get_run(asked: Asked, given: Given) -> Given:
    return {"run": asked.read(found_runs.get, _body(NamedRun, given).run)}


def _experiment_of(asked: Asked, run: Given) -> Given:
    return _experiment(asked, run["info"]["experiment_id"])


def _experiment(asked: Asked, experiment_id: str) -> Given:
    if experiment_id not in asked.experiments:
        found = asked.read(experiments.find, experiment_id)
        asked.experiments[experiment_id] = experiments.experiment_out(found)
    return asked.experiments[experiment_id]


def _versions_of(asked: Asked, run: Given) -> Any:
    wanted = registry.Asked(f"run_id = '{run['info']['run_id']}'", "", MAX_RUNS)
    return asked.read(registry.search_versions, wanted)["model_versions"]


def _search_versions(asked: Asked, given: Given) -> Any:
    try:
        limit = int(given.get("maxResults") or MAX_RUNS)
    except ValueError as error:
        raise InvalidInput("maxResults: expected a whole number") from error
    filter_, token = str(given.get("filter") or ""), str(given.get("pageToken") or "")
    return asked.read(registry.search_versions, registry.Asked(filter_, token, max(1, min(limit, MAX_RUNS))))


def _search_runs(asked: Asked, given: Given) -> Given:
    body = _body(SearchRuns, {**given, "maxResults": max(1, min(given.get("maxResults") or MAX_RUNS, MAX_RUNS))})
    found, token = asked.read(found_runs.search, body)
    return {"runs": found, "next_page_token": token}


def _search_datasets(asked: Asked, given: Given) -> Given:
    return {"dataset_summaries": asked.read(datasets.search, _body(SearchDatasets, given))}


def _list_files(asked: Asked, given: Given) -> Given:
    asked.budget.look_up()
    run, path = _body(NamedRun, given).run, str(given.get("path") or "")
    if path:
        files.check_path(path)
    found = operations.list_files(asked.state, asked.caller, f"runs/{run}/{path}" if path else f"runs/{run}")
    shown = [{**one, "path": f"{path}/{one['path']}" if path else one["path"]} for one in found]
    return {"root_uri": artifact_uri(run), "files": shown}


def _histories(asked: Asked, given: Given) -> Given:
    asked.budget.look_up()
    runs, key = [str(one) for one in given.get("runIds") or ()], str(given.get("metricKey") or "")
    start, end = given.get("startStep"), given.get("endStep")
    limit = histories.MAX_THINNED if given.get("maxResults") is None else int(given["maxResults"])
    histories.check_thinned(runs, key, start=start, end=end, limit=limit)
    between = None if start is None or end is None else (start, end)
    found = histories.thinned(asked.state, asked.caller, runs, key, between=between, limit=limit)
    if len(found) > MAX_POINTS:
        raise InvalidInput(f"expected at most {MAX_POINTS} points in an answer, got {len(found)}; lower maxResults")
    return {"metrics": found}


def _echo(_asked: Asked, given: Given) -> Given:
    return {"output": given["inputString"]}


_RESOLVERS: dict[tuple[str, str], Callable[[Asked, Given], Any]] = {
    ("Query", "mlflowGetExperiment"): _get_experiment,
    ("Query", "mlflowGetRun"): _get_run,
    ("Query", "mlflowGetMetricHistoryBulkInterval"): _histories,
    ("Query", "mlflowListArtifacts"): _list_files,
    ("Query", "mlflowSearchModelVersions"): _search_versions,
    ("Query", "test"): _echo,
    ("Mutation", "mlflowSearchRuns"): _search_runs,
    ("Mutation", "mlflowSearchDatasets"): _search_datasets,
    ("MlflowRunExtension", "experiment"): _experiment_of,
    ("MlflowRunExtension", "modelVersions"): _versions_of,
}


def _body(kind: type[Body], given: Given) -> Body:
    """A request as the routes take it, with their limits."""
    try:
        return kind.model_validate({_snake(key): value for key, value in given.items() if value is not None})
    except ValidationError as error:
        first = error.errors()[0]
        raise InvalidInput(f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}") from error


@functools.lru_cache(maxsize=500)
def _snake(name: str) -> str:
    return re.sub(r"[A-Z]", lambda found: f"_{found[0].lower()}", name)
