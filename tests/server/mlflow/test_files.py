"""Files of runs, logged models and registered ones."""

from __future__ import annotations

from typing import Any

from tests.server.mlflow.conftest import Door


def put(door: Door, path: str, data: bytes) -> int:
    return door.http.put(f"/mlflow-artifacts/artifacts/{path}", content=data).status_code


def listed(door: Door, path: str) -> Any:
    return door.http.get("/mlflow-artifacts/artifacts", params={"path": path}).json()["files"]


def test_files_of_a_run_are_put_listed_fetched_and_deleted(door: Door) -> None:
    run = door.new_run()
    assert listed(door, f"runs/{run}") == []
    assert put(door, f"runs/{run}/model/w.bin", b"weights") == 200
    assert put(door, f"runs/{run}/a.txt", b"a") == 200
    assert listed(door, f"runs/{run}") == [
        {"path": "a.txt", "is_dir": False, "file_size": 1},
        {"path": "model", "is_dir": True},
    ]
    assert door.get("artifacts/list", run_id=run, path="model") == {
        "root_uri": f"mlflow-artifacts:/runs/{run}",
        "files": [{"path": "model/w.bin", "is_dir": False, "file_size": 7}],
    }
    assert door.http.get(f"/mlflow-artifacts/artifacts/runs/{run}/model/w.bin").content == b"weights"
    assert door.http.delete(f"/mlflow-artifacts/artifacts/runs/{run}/model").status_code == 200
    assert [one["path"] for one in listed(door, f"runs/{run}")] == ["a.txt"]


def test_a_logged_model_becomes_a_version(door: Door) -> None:
    run = door.new_run()
    door.post("runs/log-metric", run_id=run, key="acc", value=0.9, timestamp=1)
    made = door.post(
        "logged-models", experiment_id="0", name="net", source_run_id=run, tags=[{"key": "a", "value": "b"}]
    )
    model = made["model"]["info"]
    assert model["status"] == "LOGGED_MODEL_PENDING"
    assert put(door, f"models/{model['model_id']}/MLmodel", b"flavors: {}") == 200
    patched = door.http.patch(f"/mlflow/logged-models/{model['model_id']}", json={"status": "LOGGED_MODEL_READY"})
    assert patched.json()["model"]["info"]["status"] == "LOGGED_MODEL_READY"
    found = door.post("logged-models/search", experiment_ids=["0"], filter=f"name = 'net' and source_run_id = '{run}'")
    assert [one["info"]["model_id"] for one in found["models"]] == [model["model_id"]]
    door.post("registered-models/create", name="net")
    version = door.post("model-versions/create", name="net", source=model["artifact_uri"], model_id=model["model_id"])
    assert (version["model_version"]["version"], version["model_version"]["run_id"]) == ("1", run)
    assert version["model_version"]["source"] == model["artifact_uri"]
    door.post("registered-models/alias", name="net", alias="champion", version="1")
    assert door.get("registered-models/alias", name="net", alias="champion")["model_version"]["version"] == "1"
    uri = door.get("model-versions/get-download-uri", name="net", version="1")["artifact_uri"]
    path = uri.removeprefix("mlflow-artifacts:/")
    assert door.http.get(f"/mlflow-artifacts/artifacts/{path}/MLmodel").content == b"flavors: {}"
    assert put(door, f"{path}/MLmodel", b"other") == 403  # a version does not change
    assert [one["version"] for one in door.get("model-versions/search", filter="name='net'")["model_versions"]] == ["1"]
    names = [one["name"] for one in door.get("registered-models/search", filter="name LIKE 'n%'")["registered_models"]]
    assert names == ["net"]
    removed = door.http.request("DELETE", "/mlflow/registered-models/delete", json={"name": "net"})
    assert removed.status_code == 200
    assert door.refused("GET", "registered-models/get", params={"name": "net"}) == (404, "RESOURCE_DOES_NOT_EXIST")


def test_paths_stay_where_they_belong(door: Door) -> None:
    run = door.new_run()
    for path in (f"runs/{run}/%2e%2e/x", f"runs/{run}//x", "runs", "", "other/x", f"runs/{run}", f"runs/{run}/a%00b"):
        assert put(door, path, b"x") in (400, 404, 405), path
