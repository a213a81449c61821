"""The queries of MLflow's web pages, and what is refused of others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from graphql import DocumentNode, parse
from tests.server.mlflow.conftest import Door, told
from tests.support.world import World

from danlu.errors import InvalidInput
from danlu.server.mlflow.bodies import GraphQLQuery
from danlu.server.mlflow.door import Caller
from danlu.server.mlflow.graphql import limits, running


def send(door: Door, query: str, **variables: Any) -> httpx.Response:
    address = str(door.http.base_url).rstrip("/").removesuffix("/api/2.0")
    return door.http.post(f"{address}/graphql", json={"query": query, "variables": variables})


def ask(door: Door, query: str, **variables: Any) -> Any:
    answer = told(send(door, query, **variables))
    assert answer["errors"] is None, answer
    return answer["data"]


def refused(door: Door, query: str, **variables: Any) -> str:
    """The first of the errors, with no data in the answer."""
    answer = told(send(door, query, **variables))
    assert not any((answer["data"] or {}).values()), answer
    return str(answer["errors"][0])


def test_a_run_with_all_that_belongs_to_it(door: Door) -> None:
    experiment = door.post("experiments/create", name="of a page")["experiment_id"]
    run = door.new_run(experiment, run_name="first", start_time=5)
    metrics = [{"key": "acc", "value": 0.5, "timestamp": 7, "step": 3}, {"key": "odd", "value": "NaN", "timestamp": 7}]
    dataset = {"dataset": {"name": "cats", "digest": "1"}, "tags": []}
    door.post("runs/log-batch", run_id=run, metrics=metrics, params=[{"key": "lr", "value": "1"}])
    door.post("runs/log-inputs", run_id=run, datasets=[dataset])
    door.http.put(f"/mlflow-artifacts/artifacts/runs/{run}/model/w", content=b"w")
    door.post("registered-models/create", name="paged")
    door.post("model-versions/create", name="paged", source=f"mlflow-artifacts:/runs/{run}/model", run_id=run)
    query = """query Q($data: MlflowGetRunInput!) @component(name: "page") { mlflowGetRun(input: $data) {
        apiError { code }
        run { info { runName status startTime endTime experimentId }
              data { metrics { key value timestamp step } params { key value } }
              inputs { datasetInputs { dataset { name digest } } modelInputs { modelId } }
              experiment { name } modelVersions { name version } } } }"""
    assert ask(door, query, data={"runId": run})["mlflowGetRun"] == {
        "apiError": None,
        "run": {
            "info": {
                "runName": "first",
                "status": "RUNNING",
                "startTime": "5",
                "endTime": "0",
                "experimentId": experiment,
            },
            "data": {
                "metrics": [
                    {"key": "acc", "value": 0.5, "timestamp": "7", "step": "3"},
                    {"key": "odd", "value": None, "timestamp": "7", "step": "0"},
                ],
                "params": [{"key": "lr", "value": "1"}],
            },
            "inputs": {"datasetInputs": [{"dataset": {"name": "cats", "digest": "1"}}], "modelInputs": []},
            "experiment": {"name": "of a page"},
            "modelVersions": [{"name": "paged", "version": "1"}],
        },
    }


def test_runs_data_sets_files_and_histories(door: Door) -> None:
    experiment = door.post("experiments/create", name="of pages")["experiment_id"]
    runs = [door.new_run(experiment, start_time=at) for at in (1, 2)]
    for step in range(10):
        door.post("runs/log-metric", run_id=runs[0], key="m", value=step, step=step, timestamp=step)
    door.http.put(f"/mlflow-artifacts/artifacts/runs/{runs[0]}/d/a.txt", content=b"abc")
    door.post("runs/log-inputs", run_id=runs[0], datasets=[{"dataset": {"name": "cats", "digest": "1"}}])
    found = ask(
        door,
        """mutation M($e: [String]) {
            mlflowSearchRuns(input: {experimentIds: $e, orderBy: ["start_time ASC"], maxResults: 1}) {
                runs { info { runId } experiment { name } } nextPageToken }
            mlflowSearchDatasets(input: {experimentIds: $e}) { datasetSummaries { name context } } }""",
        e=[experiment],
    )
    assert found["mlflowSearchRuns"]["runs"] == [{"info": {"runId": runs[0]}, "experiment": {"name": "of pages"}}]
    assert found["mlflowSearchRuns"]["nextPageToken"] != ""
    assert found["mlflowSearchDatasets"] == {"datasetSummaries": [{"name": "cats", "context": ""}]}
    found = ask(
        door,
        """query Q($r: String!) {
            top: mlflowListArtifacts(input: {runId: $r}) { ...F }
            in: mlflowListArtifacts(input: {runUuid: $r, path: "d"}) { ...F }
            mlflowGetMetricHistoryBulkInterval(input: {runIds: [$r], metricKey: "m", startStep: 2, endStep: 4}) {
                metrics { runId key step value } } }
        fragment F on MlflowListArtifactsResponse { files { path isDir fileSize } }""",
        r=runs[0],
    )
    assert found["top"] == {"files": [{"path": "d", "isDir": True, "fileSize": "0"}]}
    assert found["in"] == {"files": [{"path": "d/a.txt", "isDir": False, "fileSize": "3"}]}
    points = found["mlflowGetMetricHistoryBulkInterval"]["metrics"]
    assert points == [{"runId": runs[0], "key": "m", "step": str(step), "value": step} for step in (2, 3, 4)]


def test_a_missing_thing_is_told_beside_what_was_found(door: Door) -> None:
    run = door.new_run(run_name="there")
    query = """query Q($r: String) { a: mlflowGetRun(input: {runId: $r}) { run { info { runName } } }
               b: mlflowGetRun(input: {runId: "run-none"}) { run { info { runName } } } }"""
    answer = told(send(door, query, r=run))
    assert answer["data"] == {"a": {"run": {"info": {"runName": "there"}}}, "b": None}
    assert "'run-none'" in answer["errors"][0]


WRONG = {
    "": "Unexpected <EOF>",
    "{": "Expected Name",
    "{ nothing }": "Cannot query field 'nothing' on type 'Query'",
    "mutation { createRun { run } }": "Cannot query field 'createRun'",
    "subscription { test }": "subscription",
    "{ mlflowGetRun { run { info { runId } } } }": "input",
    "{ __schema { types { name } } }": "the schema cannot be queried",
    '{ __type(name: "Query") { name } }': "the schema cannot be queried",
    "query A { mlflowGetRun } query B { mlflowGetRun }": "expected one operation",
    "fragment A on Query { ...A } { ...A }": "contains itself",
    "fragment A on Query { ...B } fragment B on Query { ...A } { ...A }": "contains itself",
    '{ mlflowListArtifacts(input: {runId: "run-a", path: "../x"}) { rootUri } }': "Invalid path",
    '{ mlflowGetExperiment(input: {experimentId: "' + "9" * 50 + '"}) { experiment { name } } }': "No Experiment",
    'mutation { mlflowSearchRuns(input: {experimentIds: ["0"], filter: "x = "}) { nextPageToken } }': "invalid filter",
    'mutation { mlflowSearchRuns(input: {filter: "' + "a" * 6001 + '"}) { nextPageToken } }': "filter: ",
    '{ mlflowGetMetricHistoryBulkInterval(input: {runIds: [], metricKey: "a"}) { metrics { key } } }': "run_ids",
}


@pytest.mark.parametrize(("query", "error"), WRONG.items(), ids=range(len(WRONG)))
def test_a_wrong_query_is_refused(door: Door, query: str, error: str) -> None:
    assert error in refused(door, query)


def large_queries() -> Iterator[tuple[str, str]]:
    one = '{ test(inputString: "a") { output } }'
    yield (
        "many fields",
        "{" + " ".join(f"a{n}: mlflowGetRun(input: {{}}) {{ run {{ info {{ runId }} }} }}" for n in range(90)),
    )
    yield "the same field", one[:-3] + "output " * 400 + "} }"
    names = "abcdefghijkl"
    laughs = "".join(
        f'fragment {a} on Query {{ x: test(inputString: "a") {{ output }} ...{b} ...{b} }} '
        for a, b in zip(names, names[1:])
    )
    yield "fragments of fragments", laughs + 'fragment l on Query { y: test(inputString: "a") { output } } { ...a }'
    unused = laughs + 'fragment l on Query { y: test(inputString: "a") { output } } ' + one
    yield "fragments that nothing names", unused
    yield "deep", "{" + "a {" * 30 + "b" + "}" * 31
    yield "deep in brackets", "{" + "... {" * 100 + "a" + "}" * 101
    yield "a deep list", "{ test(inputString: " + "[" * 1200 + "]" * 1200 + ") { output } }"


@pytest.mark.parametrize(("name", "query"), list(large_queries()))
def test_a_large_query_is_refused_before_it_runs(door: Door, name: str, query: str) -> None:
    assert refused(door, query) != ""


def sized(query: str) -> DocumentNode:
    return parse(query, no_location=True)


def test_fragments_count_each_time_that_they_are_named() -> None:
    fragment = "fragment A on T { " + " ".join(f"f{n}" for n in range(100)) + " } "
    limits.check(sized(fragment + "{ ...A ...A ...A }"))
    with pytest.raises(InvalidInput, match="got 400"):
        limits.check(sized(fragment + "{ ...A ...A ...A ...A }"))


def test_a_query_has_a_number_of_look_ups(door: Door) -> None:
    run = door.new_run()
    names = " ".join(f"a{n}: mlflowGetRun(input: {{runId: $r}}) {{ run {{ info {{ runId }} }} }}" for n in range(25))
    answer = told(send(door, f"query Q($r: String) {{ {names} }}", r=run))
    assert [one is not None for one in answer["data"].values()] == [True] * 20 + [False] * 5
    assert answer["errors"] == ["a query looks up at most 20 things; send several queries"] * 5
    budget = limits.Budget()
    for _ in range(20):
        budget.look_up()
    with pytest.raises(InvalidInput, match="at most 20"):
        budget.look_up()


def test_what_each_run_looks_up_counts(door: Door) -> None:
    experiment = door.post("experiments/create", name="many runs")["experiment_id"]
    for _ in range(25):
        door.new_run(experiment)
    search = "mutation M($e: [String]) { mlflowSearchRuns(input: {experimentIds: $e}) { runs { %s { name } } } }"
    found = ask(door, search % "experiment", e=[experiment])
    assert len(found["mlflowSearchRuns"]["runs"]) == 25
    answer = told(send(door, search % "modelVersions", e=[experiment]))
    assert "looks up at most 20 things" in answer["errors"][0]


def test_a_query_ends_in_time(world: World) -> None:
    caller = Caller(world.admin, None)
    query = GraphQLQuery(query='{ test(inputString: "a") { output } }')
    assert running.run(world.state, caller, query)["data"] == {"test": {"output": "a"}}
    late = running.run(world.state, caller, query, seconds=0)
    assert (late["data"], late["errors"]) == (None, ["the query took longer than 0 seconds; ask for less at once"])


def test_a_text_that_many_names_ask_for_counts_for_each(door: Door) -> None:
    run = door.new_run()
    dataset = {"name": "large", "digest": "1", "profile": "p" * 900_000}
    door.post("runs/log-inputs", run_id=run, datasets=[{"dataset": dataset, "tags": []}])
    query = (
        "query Q($r: String) { mlflowGetRun(input: {runId: $r}) { run { inputs { datasetInputs { dataset { %s }}}}}}"
    )
    found = ask(door, query % " ".join(f"a{n}: profile" for n in range(18)), r=run)
    ((shown,),) = [one["datasetInputs"] for one in [found["mlflowGetRun"]["run"]["inputs"]]]
    assert [len(text) for text in shown["dataset"].values()] == [900_000] * 18
    answer = told(send(door, query % " ".join(f"a{n}: profile" for n in range(19)), r=run))
    error = "expected an answer of at most 16777216 characters, got more; ask for less at once"
    assert answer == {"data": None, "errors": [error]}


@pytest.mark.parametrize(
    ("name", "value", "num_chars"),
    [("a" * 5000, None, 5016), ("a", 0.5, 17), ("a", ["b" * 2500] * 2, 5017), ("a", [{"b": "c"}], 17)],
    ids=["a long name", "a number", "a list of texts", "a list of objects"],
)
def test_names_numbers_and_lists_count_as_well(name: str, value: Any, num_chars: int) -> None:
    budget = limits.Budget()
    for _ in range((16 << 20) // num_chars):
        budget.answer(name, value)
    with pytest.raises(limits.Exhausted, match="at most 16777216 characters"):
        budget.answer(name, value)


def test_names_of_types_count(world: World) -> None:
    query = GraphQLQuery(query="{ __typename }")
    assert running.run(world.state, Caller(world.admin, None), query)["data"] == {"__typename": "Query"}
    late = running.run(world.state, Caller(world.admin, None), query, seconds=0)
    assert (late["data"], late["errors"]) == (None, ["the query took longer than 0 seconds; ask for less at once"])


def test_bodies_have_the_door_s_errors(door: Door) -> None:
    address = str(door.http.base_url).rstrip("/").removesuffix("/api/2.0")
    for body in ({}, {"query": 5}, {"query": "x" * 10_001}, {"query": "{a}", "variables": []}):
        answer = door.http.post(f"{address}/graphql", json=body)
        assert (answer.status_code, answer.json()["error_code"]) == (400, "INVALID_PARAMETER_VALUE")
    answer = httpx.post(f"{address}/graphql", json={"query": "{a}"})
    assert (answer.status_code, answer.json()["error_code"]) == (401, "UNAUTHENTICATED")


def test_rights_are_those_of_the_routes(world: World, url: str, door: Door) -> None:
    member = Door(url, world.api_key(world.add_user("gil", "graphs")), "graphs")
    stranger = Door(url, world.api_key(world.add_user("gus", "others")), "others")
    run = member.new_run(run_name="secret")
    member.http.put(f"/mlflow-artifacts/artifacts/runs/{run}/a.txt", content=b"a")
    job = world.started(who=world.identity("gil"), project="graphs")
    inside = Door(url, world.job_token(job), "graphs")
    queries = [
        "query Q($r: String!) { mlflowGetRun(input: {runId: $r}) { run { info { runName } } } }",
        "query Q($r: String!) { mlflowListArtifacts(input: {runId: $r}) { files { path } } }",
        'query Q($r: String!) { mlflowGetMetricHistoryBulkInterval(input: {runIds: [$r], metricKey: "m"}) {'
        " metrics { key } } }",
    ]
    for query in queries:
        assert ask(member, query, r=run)
        assert refused(stranger, query, r=run) != ""
        assert refused(inside, query, r=run) != ""
    search = 'mutation { mlflowSearchRuns(input: {experimentIds: ["0"]}) { runs { info { runName } } } }'
    assert ask(stranger, search)["mlflowSearchRuns"] == {"runs": []}
    assert ask(inside, search)["mlflowSearchRuns"] == {"runs": []}
    assert ask(member, search)["mlflowSearchRuns"] == {"runs": [{"info": {"runName": "secret"}}]}
    for one in (member, stranger, inside):
        one.http.close()
