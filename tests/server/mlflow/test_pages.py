"""What MLflow's pages and older clients ask for: data sets, histories, files by run, wording of refusals."""

from __future__ import annotations

from typing import Any

import pytest
from tests.server.mlflow.conftest import Door


def test_data_sets_of_a_run_come_back_and_are_searched(door: Door) -> None:
    experiment = door.post("experiments/create", name="data sets")["experiment_id"]
    run = door.new_run(experiment)
    tag = {"key": "mlflow.data.context", "value": "training"}
    given = {"dataset": {"name": "a", "digest": "1", "source_type": "local", "source": "{}"}, "tags": [tag]}
    door.post("runs/log-inputs", run_id=run, datasets=[given])
    door.post("runs/log-inputs", run_id=run, datasets=[given])
    assert door.get("runs/get", run_id=run)["run"]["inputs"] == {"dataset_inputs": [given]}
    found = door.post("experiments/search-datasets", experiment_ids=[experiment])
    assert found["dataset_summaries"] == [
        {"experiment_id": experiment, "name": "a", "digest": "1", "context": "training"}
    ]


def test_what_a_run_keeps_in_texts_has_an_end_and_pages_have_one_too(door: Door) -> None:
    experiment = door.post("experiments/create", name="large data sets")["experiment_id"]
    runs = [door.new_run(experiment) for _ in range(3)]
    for run in runs:
        for number in range(8):
            dataset = {"name": str(number), "digest": "1", "schema": "x" * 1_000_000}
            door.post("runs/log-inputs", run_id=run, datasets=[{"dataset": dataset}])
        body = {"run_id": run, "datasets": [{"dataset": {**dataset, "digest": "2"}}]}
        assert door.refused("POST", "runs/log-inputs", json=body) == (400, "INVALID_PARAMETER_VALUE")
        door.post("runs/set-tag", run_id=run, key="still", value="fits")
    first = door.post("runs/search", experiment_ids=[experiment])
    assert len(first["runs"]) == 2
    rest = door.post("runs/search", experiment_ids=[experiment], page_token=first["next_page_token"])
    assert {run["info"]["run_id"] for run in first["runs"] + rest["runs"]} == set(runs)
    found = door.post("experiments/search-datasets", experiment_ids=[experiment])
    assert {one["name"] for one in found["dataset_summaries"]} == {str(number) for number in range(8)}


def test_thinned_histories_keep_first_and_last_steps_of_each_run(door: Door) -> None:
    short, long = door.new_run(), door.new_run()
    for run, count in ((short, 10), (long, 20)):
        points = [{"key": "m", "value": 1.0, "timestamp": 1, "step": step} for step in range(count)]
        door.post("runs/log-batch", run_id=run, metrics=points)
    found = door.get("metrics/get-history-bulk-interval", run_ids=[short, long], metric_key="m", max_results=5)
    steps = [(one["run_id"], one["step"]) for one in found["metrics"]]
    assert steps == [(short, one) for one in (0, 4, 8, 9)] + [(long, one) for one in (0, 4, 8, 9, 12, 16, 19)]


def test_thinned_histories_of_a_long_run_reach_to_its_end(door: Door) -> None:
    run = door.new_run()
    for first in range(0, 27_000, 1000):
        points = [{"key": "m", "value": float(first), "timestamp": 1, "step": first + step} for step in range(1000)]
        door.post("runs/log-batch", run_id=run, metrics=points)
    found = door.get("metrics/get-history-bulk-interval", run_ids=[run], metric_key="m", max_results=3)
    assert [one["step"] for one in found["metrics"]] == [0, 9000, 18_000, 26_999]
    about = {"run_ids": [run], "metric_key": "m", "start_step": 26_000, "end_step": 26_001}
    found = door.get("metrics/get-history-bulk-interval", **about)
    assert [(one["step"], one["value"]) for one in found["metrics"]] == [(26_000, 26_000.0), (26_001, 26_000.0)]


def test_points_of_several_runs_come_by_run_time_step_and_value(door: Door) -> None:
    runs = sorted([door.new_run(), door.new_run()])
    given = [(2, 1, 5.0), (1, 9, 4.0), (1, 3, "NaN"), (1, 3, 2.0)]
    points = [{"key": "m", "timestamp": at, "step": step, "value": value} for at, step, value in given]
    for run in runs:
        door.post("runs/log-batch", run_id=run, metrics=points)
    found = door.get("metrics/get-history-bulk", run_id=runs, metric_key="m", max_results=6)["metrics"]
    told = [(one["run_id"], one["timestamp"], one["step"], one["value"]) for one in found]
    ordered = [(1, 3, 2.0), (1, 3, "NaN"), (1, 9, 4.0), (2, 1, 5.0)]
    assert told == [*((runs[0], *one) for one in ordered), *((runs[1], *one) for one in ordered[:2])]


def test_the_list_of_logged_models_is_refused_where_its_tag_is_something_else(door: Door) -> None:
    run = door.new_run()
    for text in ("nothing", "5", "[" * 3000):
        door.post("runs/set-tag", run_id=run, key="mlflow.log-model.history", value=text)
        body = {"run_id": run, "model_json": "{}"}
        assert door.refused("POST", "runs/log-model", json=body) == (400, "INVALID_PARAMETER_VALUE")
    door.post("runs/set-tag", run_id=run, key="mlflow.log-model.history", value="[]")
    door.post("runs/log-model", run_id=run, model_json='{"a": 1}')
    body = {"run_id": run, "model_json": "[" * 3000}
    assert door.refused("POST", "runs/log-model", json=body) == (400, "INVALID_PARAMETER_VALUE")


def test_a_refusal_names_the_parameter_and_what_was_given(door: Door) -> None:
    response = door.http.post("/mlflow/runs/log-batch", json={"run_id": "x", "metrics": "foo"})
    assert response.status_code == 400
    assert "Invalid value \"foo\" for parameter 'metrics' supplied" in response.json()["message"]
    response = door.http.post("/mlflow/experiments/create", json={})
    assert "Missing value for required parameter 'name'" in response.json()["message"]


PROMPT = {
    "prompt_template": "Say {{word}}",
    "prompt_parameters": [{"key": "word", "value": "hello"}],
    "model_route": "none",
    "model_parameters": [{"key": "temperature", "value": 0.1}],
    "model_input": "Say hello",
    "model_output": "hello",
    "model_output_parameters": [{"key": "latency", "value": "100"}],
    "mlflow_version": "2.14.3",
}


def test_a_prompt_that_was_tried_is_a_run(door: Door) -> None:
    made = door.post("runs/create-promptlab-run", experiment_id="0", run_name="tried", user_id="ann", **PROMPT)["run"]
    info, data = made["info"], made["data"]
    assert (info["run_name"], info["status"], info["user_id"]) == ("tried", "FINISHED", "ann")
    params = {"model_route": "none", "prompt_template": "Say {{word}}", "temperature": "0.1"}
    assert {one["key"]: one["value"] for one in data["params"]} == params
    tags = {one["key"]: one["value"] for one in data["tags"]}
    assert tags["mlflow.runSourceType"] == "PROMPT_ENGINEERING"
    path = f"/mlflow-artifacts/artifacts/runs/{info['run_id']}/eval_results_table.json"
    assert door.http.get(path).json() == {
        "columns": ["word", "prompt", "output", "latency"],
        "data": [["hello", "Say hello", "hello", "100"]],
    }


@pytest.mark.parametrize("name", ["prompt_template", "prompt_parameters", "model_route", "model_input"])
def test_a_prompt_without_all_parts_makes_no_run(door: Door, name: str) -> None:
    experiment = door.post("experiments/create", name=f"without {name}")["experiment_id"]
    body = {"experiment_id": experiment, **PROMPT}
    del body[name]
    answer = door.http.post("/mlflow/runs/create-promptlab-run", json=body)
    assert answer.status_code == 400
    assert answer.json()["message"] == f"CreatePromptlabRun request must specify {name}."
    body = {"experiment_id": experiment, **PROMPT, "model_parameters": [{"key": "a\nb", "value": "c"}]}
    assert door.refused("POST", "runs/create-promptlab-run", json=body)[0] == 400
    assert door.names(experiment_ids=[experiment]) == []


def test_there_is_no_gateway(door: Door) -> None:
    path = "gateway-proxy"
    assert door.get(path, gateway_path="api/2.0/endpoints/") == {"endpoints": []}
    assert door.post(path, gateway_path="api/2.0/endpoints") == {"endpoints": []}
    assert door.refused("POST", path, json={}) == (400, "INVALID_PARAMETER_VALUE")
    asked = {"gateway_path": "gateway/chat/invocations", "json_data": {}}
    assert door.refused("POST", path, json=asked) == (404, "RESOURCE_DOES_NOT_EXIST")


def test_the_user_that_a_client_names_is_shown(door: Door) -> None:
    def user(**body: Any) -> str:
        return str(door.post("runs/create", experiment_id="0", **body)["run"]["info"]["user_id"])

    tags = [{"key": "mlflow.user", "value": "tagged"}]
    assert user(user_id="ann") == "ann"
    assert user(user_id="ann", tags=tags) == "tagged"
    assert user(user_id="unknown") == user() == "admin"
