"""Who may do what through the door: attacks by strangers, viewers, members of other projects and jobs."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from tests.server.mlflow.conftest import Door
from tests.support.world import Api, World

from danlu.auth.identity import Role

NO_RUN = (404, "RESOURCE_DOES_NOT_EXIST")


@pytest.fixture(scope="module")
def others(world: World, url: str) -> Iterator[dict[str, Door]]:
    people = {
        "member": world.add_user("mia", "alpha"),
        "viewer": world.add_user("vera", "alpha", Role.VIEWER),
        "stranger": world.add_user("sam", "beta"),
    }
    doors = {name: Door(url, world.api_key(who), "alpha") for name, who in people.items()}
    doors["own"] = Door(url, world.api_key(people["stranger"]), "beta")
    yield doors
    for door in doors.values():
        door.http.close()


@pytest.fixture(scope="module")
def run(others: dict[str, Door]) -> str:
    made = others["member"].new_run(run_name="secret")
    others["member"].http.put(f"/mlflow-artifacts/artifacts/runs/{made}/key.txt", content=b"secret")
    return made


def test_nobody_uses_it_without_a_key(url: str) -> None:
    response = httpx.post(f"{url}/compat/mlflow/api/2.0/mlflow/runs/search", json={"experiment_ids": ["0"]})
    assert (response.status_code, response.json()["error_code"]) == (401, "UNAUTHENTICATED")


def test_a_stranger_finds_nothing_of_a_project(others: dict[str, Door], run: str) -> None:
    stranger, own = others["stranger"], others["own"]
    assert stranger.refused("GET", "runs/get", params={"run_id": run}) == NO_RUN
    assert own.refused("GET", "runs/get", params={"run_id": run}) == NO_RUN
    assert own.refused("POST", "runs/set-tag", json={"run_id": run, "key": "a", "value": "b"}) == NO_RUN
    for path in (f"runs/{run}/key.txt", f"runs/{run}"):
        assert own.http.get(f"/mlflow-artifacts/artifacts/{path}").status_code == 404
    assert own.http.put(f"/mlflow-artifacts/artifacts/runs/{run}/key.txt", content=b"x").status_code == 404
    assert own.http.get("/mlflow-artifacts/artifacts", params={"path": f"runs/{run}"}).status_code == 404


def test_an_experiment_of_another_project_is_not_there(others: dict[str, Door]) -> None:
    theirs = others["member"].post("experiments/create", name="theirs")["experiment_id"]
    assert others["own"].refused("GET", "experiments/get", params={"experiment_id": theirs}) == NO_RUN
    assert others["own"].refused("POST", "runs/create", json={"experiment_id": theirs}) == NO_RUN
    found = others["own"].post("experiments/search")["experiments"]
    assert "theirs" not in [one["name"] for one in found]


def test_a_viewer_reads_and_changes_nothing(others: dict[str, Door], run: str) -> None:
    viewer = others["viewer"]
    assert viewer.get("runs/get", run_id=run)["run"]["info"]["run_name"] == "secret"
    assert viewer.http.get(f"/mlflow-artifacts/artifacts/runs/{run}/key.txt").content == b"secret"
    denied = (403, "PERMISSION_DENIED")
    assert viewer.refused("POST", "runs/create", json={"experiment_id": "0"}) == denied
    assert viewer.refused("POST", "runs/delete", json={"run_id": run}) == denied
    assert viewer.refused("POST", "runs/log-parameter", json={"run_id": run, "key": "a", "value": "b"}) == denied
    assert viewer.refused("POST", "experiments/create", json={"name": "mine"}) == denied
    assert viewer.refused("POST", "registered-models/create", json={"name": "mine"}) == denied
    assert viewer.http.put(f"/mlflow-artifacts/artifacts/runs/{run}/x", content=b"x").status_code == 403
    assert viewer.http.delete(f"/mlflow-artifacts/artifacts/runs/{run}/key.txt").status_code == 403


def test_a_version_cannot_take_files_of_another_project(others: dict[str, Door], run: str) -> None:
    own = others["own"]
    own.post("registered-models/create", name="stolen")
    for source in (
        f"mlflow-artifacts:/runs/{run}/",
        f"runs:/{run}/",
        "store://alpha/mlflow/",
        "/etc",
        "file:///etc/passwd",
    ):
        status, code = own.refused("POST", "model-versions/create", json={"name": "stolen", "source": source})
        assert status in (400, 403, 404), (source, code)


def test_a_job_logs_runs_of_its_own_only(world: World, url: str, others: dict[str, Door], run: str) -> None:
    job = world.started(who=world.identity("mia"), project="alpha")
    inside = Door(url, world.job_token(job), "alpha")
    made = inside.new_run(run_name="inside")
    inside.post("runs/log-metric", run_id=made, key="x", value=1, timestamp=1)
    assert inside.http.put(f"/mlflow-artifacts/artifacts/runs/{made}/a.txt", content=b"a").status_code == 200
    assert inside.refused("GET", "runs/get", params={"run_id": run})[0] in (403, 404)
    assert inside.http.get(f"/mlflow-artifacts/artifacts/runs/{run}/key.txt").status_code in (403, 404)
    assert inside.refused("POST", "registered-models/create", json={"name": "x"})[0] == 403
    elsewhere = Door(url, world.job_token(job), "beta")
    assert elsewhere.refused("POST", "runs/create", json={"experiment_id": "0"})[0] in (403, 404)
    inside.http.close()
    elsewhere.http.close()


def test_a_job_finds_runs_of_its_own_only(world: World, url: str, others: dict[str, Door], run: str) -> None:
    member = others["member"]
    hidden = member.post("experiments/create", name="hidden")["experiment_id"]
    dataset = {"dataset": {"name": "secret", "digest": "1"}}
    member.post("runs/log-inputs", run_id=run, datasets=[dataset])
    member.post("logged-models", experiment_id="0", name="secret", source_run_id=run)
    found: dict[str, list[list[str]]] = {}
    for access in ("own", "read"):
        job = world.started(who=world.identity("mia"), project="alpha", access=access)
        inside = Door(url, world.job_token(job), "alpha")
        made = inside.new_run(run_name="found")
        inside.post("runs/log-inputs", run_id=made, datasets=[{"dataset": {"name": "mine", "digest": "1"}}])
        inside.post("logged-models", experiment_id="0", name="mine", source_run_id=made)
        runs = inside.names(filter="attributes.run_name IN ('secret', 'found')")
        data = inside.post("experiments/search-datasets", experiment_ids=["0"])["dataset_summaries"]
        models = inside.post("logged-models/search", experiment_ids=["0"])["models"]
        experiments = inside.post("experiments/search")["experiments"]
        found[access] = [
            sorted(runs),
            sorted(one["name"] for one in data),
            sorted(one["info"]["name"] for one in models),
            [one["experiment_id"] for one in experiments if one["experiment_id"] in ("0", hidden)],
        ]
        inside.http.close()
    assert found["own"] == [["found"], ["mine"], ["mine"], ["0"]]
    assert found["read"] == [
        ["found", "found", "secret"],
        ["mine", "secret"],
        ["mine", "mine", "secret"],
        [hidden, "0"],
    ]


@pytest.fixture(scope="module")
def gamma(world: World, url: str) -> Iterator[dict[str, Door]]:
    people = {
        "member": world.add_user("mo", "gamma"),
        "other": world.add_user("ona", "gamma"),
        "owner": world.add_user("olga", "gamma", Role.OWNER),
        "admin": world.admin,
    }
    doors = {name: Door(url, world.api_key(who), "gamma") for name, who in people.items()}
    yield doors
    for door in doors.values():
        door.http.close()


@pytest.fixture
def api(world: World, url: str) -> Iterator[Api]:
    with Api(url, world.api_key()) as made:
        yield made


class TestALoggedModelWithoutARun:
    """Its owner may change it while they may change the project; owners of the project and admins may as well."""

    def test_its_owner_and_those_of_the_project_change_it(self, gamma: dict[str, Door]) -> None:
        model = make_model(gamma["member"])
        assert attempts(gamma["member"], model) == [200] * 5
        assert attempts(gamma["owner"], model) == [200] * 5
        assert attempts(gamma["admin"], model) == [200] * 5
        assert attempts(gamma["other"], model) == [403] * 5
        assert gamma["owner"].http.delete(f"/mlflow/logged-models/{model}").status_code == 200

    def test_its_owner_as_a_viewer_reads_it_only(self, gamma: dict[str, Door], api: Api) -> None:
        model = make_model(gamma["member"])
        api.json("PUT", "/projects/gamma/members/mo", json={"role": "viewer"})
        try:
            assert attempts(gamma["member"], model) == [403] * 5
            assert gamma["member"].http.delete(f"/mlflow/logged-models/{model}").status_code == 403
            assert gamma["member"].http.get(f"/mlflow-artifacts/artifacts/models/{model}/w").content == b"w"
        finally:
            api.json("PUT", "/projects/gamma/members/mo", json={"role": "member"})
        assert attempts(gamma["member"], model) == [200] * 5

    def test_nobody_changes_it_in_an_archived_project(self, gamma: dict[str, Door], api: Api) -> None:
        model = make_model(gamma["member"])
        api.json("PATCH", "/projects/gamma", json={"is_archived": True})
        try:
            assert {who: attempts(door, model) for who, door in gamma.items()} == dict.fromkeys(gamma, [403] * 5)
        finally:
            api.json("PATCH", "/projects/gamma", json={"is_archived": False})

    def test_a_job_changes_it_only_as_its_owner(self, world: World, url: str, gamma: dict[str, Door]) -> None:
        model = make_model(gamma["member"])
        found = {}
        for access in ("read", "owner"):
            job = world.started(who=world.identity("mo"), project="gamma", access=access)
            inside = Door(url, world.job_token(job), "gamma")
            found[access] = attempts(inside, model)
            inside.http.close()
        assert found == {"read": [403] * 5, "owner": [200] * 5}


def make_model(door: Door) -> str:
    """A logged model of no run, with a file `w`."""
    model = str(door.post("logged-models", experiment_id="0", name="weights")["model"]["info"]["model_id"])
    assert door.http.put(f"/mlflow-artifacts/artifacts/models/{model}/w", content=b"w").status_code == 200
    return model


def attempts(door: Door, model: str) -> list[int]:
    """The statuses of each kind of change."""
    path, files = f"/mlflow/logged-models/{model}", f"/mlflow-artifacts/artifacts/models/{model}"
    pair = [{"key": "a", "value": "b"}]
    answers = [
        door.http.patch(f"{path}/tags", json={"tags": pair}),
        door.http.post(f"{path}/params", json={"params": pair}),
        door.http.patch(path, json={"status": "LOGGED_MODEL_READY"}),
        door.http.put(f"{files}/more", content=b"more"),
        door.http.delete(f"{files}/more"),
    ]
    return [one.status_code for one in answers]
