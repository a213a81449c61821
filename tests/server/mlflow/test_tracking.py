"""Experiments, runs, metrics, parameters and tags through the door."""

from __future__ import annotations

import pytest
from tests.server.mlflow.conftest import Door
from tests.support.world import Api, World

from danlu.journal import new_run_id


def test_a_run_is_logged_and_read_back(door: Door, world: World, url: str) -> None:
    experiment = door.post("experiments/create", name="vision/base", tags=[{"key": "team", "value": "a"}])
    run = door.new_run(experiment["experiment_id"], run_name="first", start_time=1_700_000_000_000)
    door.post(
        "runs/log-batch",
        run_id=run,
        metrics=[
            {"key": "val/acc", "value": step / 10, "timestamp": 1_700_000_000_000 + step, "step": step}
            for step in (0, 1, 2)
        ],
        params=[{"key": "lr", "value": "0.01"}, {"key": "note", "value": "0.010"}],
        tags=[{"key": "team", "value": "vision"}],
    )
    door.post("runs/log-metric", run_id=run, key="loss", value="NaN", timestamp=1, step=0)
    door.post("runs/update", run_id=run, status="FINISHED", end_time=1_700_000_005_000)
    found = door.get("runs/get", run_id=run)["run"]
    assert found["info"]["status"] == "FINISHED"
    assert found["info"]["end_time"] == 1_700_000_005_000
    assert found["info"]["experiment_id"] == experiment["experiment_id"]
    assert found["data"]["metrics"] == [
        {"key": "loss", "value": "NaN", "timestamp": 1, "step": 0},
        {"key": "val/acc", "value": 0.2, "timestamp": 1_700_000_000_002, "step": 2},
    ]
    assert found["data"]["params"] == [{"key": "lr", "value": "0.01"}, {"key": "note", "value": "0.010"}]
    assert found["data"]["tags"] == [{"key": "mlflow.runName", "value": "first"}, {"key": "team", "value": "vision"}]
    history = door.get("metrics/get-history", run_id=run, metric_key="val/acc", max_results=2)
    assert [point["value"] for point in history["metrics"]] == [0.0, 0.1]
    rest = door.get("metrics/get-history", run_id=run, metric_key="val/acc", page_token=history["next_page_token"])
    assert [point["step"] for point in rest["metrics"]] == [2]
    with Api(url, world.api_key()) as api:  # the same run, as the rest of Danlu shows it
        shown = api.json("GET", f"/runs/{run}")
    assert (shown["folder"], shown["state"], shown["hparams"]) == (
        "vision/base",
        "finished",
        {"lr": 0.01, "note": "0.010"},
    )
    assert {(metric["type"], metric["name"]) for metric in shown["metrics"]} == {("val", "acc"), ("", "loss")}


def test_a_parameter_keeps_its_first_value(door: Door) -> None:
    run = door.new_run()
    door.post("runs/log-parameter", run_id=run, key="depth", value="3")
    door.post("runs/log-parameter", run_id=run, key="depth", value="3")
    again = {"run_id": run, "key": "depth", "value": "4"}
    assert door.refused("POST", "runs/log-parameter", json=again) == (400, "INVALID_PARAMETER_VALUE")


def test_nothing_of_a_wrong_batch_is_stored(door: Door) -> None:
    run = door.new_run()
    batch = {
        "run_id": run,
        "metrics": [{"key": "ok", "value": 1, "timestamp": 1}, {"key": "bad", "value": "many", "timestamp": 1}],
        "params": [{"key": "a", "value": "b"}],
    }
    assert door.refused("POST", "runs/log-batch", json=batch) == (400, "INVALID_PARAMETER_VALUE")
    assert door.get("runs/get", run_id=run)["run"]["data"]["params"] == []


def test_a_finished_run_goes_on_when_it_is_started_again(door: Door) -> None:
    run = door.new_run()
    door.post("runs/update", run_id=run, status="FAILED")
    assert door.get("runs/get", run_id=run)["run"]["info"]["status"] == "FAILED"
    door.post("runs/update", run_id=run, status="RUNNING")
    door.post("runs/log-metric", run_id=run, key="x", value=1, timestamp=1)
    assert door.get("runs/get", run_id=run)["run"]["info"]["status"] == "RUNNING"
    door.post("runs/update", run_id=run, status="KILLED")
    door.post("runs/log-metric", run_id=run, key="x", value=2, timestamp=2, step=1)  # late, and still ended
    assert door.get("runs/get", run_id=run)["run"]["info"]["status"] == "KILLED"


def test_tags_are_set_changed_and_deleted(door: Door) -> None:
    run = door.new_run()
    door.post("runs/set-tag", run_id=run, key="k", value="1")
    door.post("runs/set-tag", run_id=run, key="k", value="2")
    door.post("runs/set-tag", run_id=run, key="mlflow.runName", value="renamed")
    found = door.get("runs/get", run_id=run)["run"]
    assert found["info"]["run_name"] == "renamed"
    assert {"key": "k", "value": "2"} in found["data"]["tags"]
    door.post("runs/delete-tag", run_id=run, key="k")
    assert door.refused("POST", "runs/delete-tag", json={"run_id": run, "key": "k"}) == (
        404,
        "RESOURCE_DOES_NOT_EXIST",
    )


def test_an_experiment_takes_its_runs_to_the_trash_and_back(door: Door, world: World) -> None:
    experiment = door.post("experiments/create", name="gone")["experiment_id"]
    kept, binned = door.new_run(experiment), door.new_run(experiment)
    door.post("runs/delete", run_id=binned)
    world.clock.pass_seconds(1)
    door.post("experiments/delete", experiment_id=experiment)
    stages = {run: door.get("runs/get", run_id=run)["run"]["info"]["lifecycle_stage"] for run in (kept, binned)}
    assert stages == {kept: "deleted", binned: "deleted"}
    assert door.refused("POST", "experiments/create", json={"name": "gone"}) == (400, "RESOURCE_ALREADY_EXISTS")
    door.post("experiments/restore", experiment_id=experiment)
    stages = {run: door.get("runs/get", run_id=run)["run"]["info"]["lifecycle_stage"] for run in (kept, binned)}
    assert stages == {kept: "active", binned: "deleted"}
    door.post("experiments/update", experiment_id=experiment, new_name="found")
    assert door.get("experiments/get-by-name", experiment_name="found")["experiment"]["experiment_id"] == experiment
    assert door.get("runs/get", run_id=kept)["run"]["info"]["experiment_id"] == experiment


def test_a_folder_of_other_clients_is_an_experiment(door: Door, world: World, url: str) -> None:
    with Api(url, world.api_key()) as api:
        api.json("POST", "/folders", json={"path": "made/here"})
    names = [one["name"] for one in door.post("experiments/search", filter="name LIKE 'made%'")["experiments"]]
    assert sorted(names) == ["made", "made/here"]


@pytest.mark.parametrize(
    ("path", "body", "code"),
    [
        ("runs/create", {"experiment_id": "999999"}, "RESOURCE_DOES_NOT_EXIST"),
        ("runs/create", {"experiment_id": "x'; --"}, "RESOURCE_DOES_NOT_EXIST"),
        (
            "runs/log-metric",
            {"run_id": "run-" + "a" * 26, "key": "x", "value": 1, "timestamp": 1},
            "RESOURCE_DOES_NOT_EXIST",
        ),
        ("runs/search", {"experiment_ids": ["0"], "filter": "metrics.x > 'a'"}, "INVALID_PARAMETER_VALUE"),
        ("runs/search", {"experiment_ids": ["0"], "filter": "nonsense"}, "INVALID_PARAMETER_VALUE"),
        ("runs/search", {"experiment_ids": ["0"], "page_token": "!!"}, "INVALID_PARAMETER_VALUE"),
        ("runs/search", {"experiment_ids": ["0"], "max_results": 10**9}, "INVALID_PARAMETER_VALUE"),
        ("experiments/create", {"name": "../up"}, "INVALID_PARAMETER_VALUE"),
        ("traces/search", {}, "ENDPOINT_NOT_FOUND"),
    ],
)
def test_what_cannot_be_done_is_told_in_the_clients_own_shape(
    door: Door, path: str, body: dict[str, object], code: str
) -> None:
    assert door.refused("POST", path, json=body)[1] == code


def test_nested_runs_are_nested_in_both_worlds(door: Door, world: World, url: str) -> None:
    outer = door.new_run(run_name="outer")
    inner = door.new_run(run_name="inner", tags=[{"key": "mlflow.parentRunId", "value": outer}])
    with Api(url, world.api_key()) as api:
        assert api.json("GET", f"/runs/{inner}")["parent"] == outer
        native = {"run": new_run_id(), "name": "native", "parent": outer}
        api.json("POST", "/runs", json=native)
    assert sorted(door.names(f"tags.mlflow.parentRunId = '{outer}'")) == ["inner", "native"]
    assert "outer" not in door.names("tags.mlflow.parentRunId IS NOT NULL")
    tags = door.get("runs/get", run_id=native["run"])["run"]["data"]["tags"]
    assert {"key": "mlflow.parentRunId", "value": outer} in tags
    foreign = door.new_run(tags=[{"key": "mlflow.parentRunId", "value": "c0ffee"}])
    assert {"key": "mlflow.parentRunId", "value": "c0ffee"} in door.get("runs/get", run_id=foreign)["run"]["data"][
        "tags"
    ]
    for run in (inner, native["run"]):
        door.post("runs/delete-tag", run_id=run, key="mlflow.parentRunId")
    with Api(url, world.api_key()) as api:
        assert api.json("GET", f"/runs/{inner}")["parent"] is None
    assert door.names(f"tags.mlflow.parentRunId = '{outer}'") == []


def test_a_model_that_is_nested_too_deeply_is_refused(door: Door) -> None:
    body = {"run_id": door.new_run(), "model_json": "[" * 7000}
    assert door.refused("POST", "runs/log-model", json=body) == (400, "INVALID_PARAMETER_VALUE")


def test_pages_of_a_history_follow_each_other_over_pieces(door: Door) -> None:
    run = door.new_run()
    for first in range(0, 30, 10):
        points = [{"key": "m", "value": step, "timestamp": step, "step": step} for step in range(first, first + 10)]
        door.post("runs/log-batch", run_id=run, metrics=points)
    seen: list[int] = []
    token = ""
    while True:
        page = door.get("metrics/get-history", run_id=run, metric_key="m", max_results=7, page_token=token)
        seen += [point["step"] for point in page["metrics"]]
        token = page.get("next_page_token", "")
        if not token:
            break
    assert seen == list(range(30))
    assert len(door.get("metrics/get-history", run_id=run, metric_key="m", max_results=30)["metrics"]) == 30
