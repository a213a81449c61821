"""The data flow over HTTP: what becomes part of it by itself, who sees what, and what stays of deleted things."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.support.journals import JournalMaker
from tests.support.shared import Shared, share_world
from tests.support.world import Api, World

from danlu.auth.identity import JobIdentity, StoreGrant
from danlu.server.runs import service as run_service
from danlu.server.runs.pushed import own_run_id
from danlu.store.queries import jobs, projects
from danlu.wire.runs import CreateRun
from danlu.wire.store import Tree

DATA, CODE = "store://main/data/images/", "store://main/code/v1"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    with share_world(tmp_path_factory.mktemp("shared")) as made:
        yield made


@pytest.fixture
def world(shared: Shared) -> World:
    return shared.fresh()


@pytest.fixture
def api(shared: Shared, world: World) -> Iterator[Api]:
    with shared.api() as made:
        yield made


def look(api: Api, node: str, **query: Any) -> tuple[dict[str, dict[str, Any]], set[tuple[str, str, str]]]:
    """Nodes by name, and edges."""
    found = api.json("GET", "/flow", params={"node": node, **query})
    nodes = {one["id"]: one for one in found["nodes"]}
    return nodes, {(edge["source"], edge["relation"], edge["target"]) for edge in found["edges"]}


def put(api: Api, key: str) -> None:
    assert api("PUT", f"/buckets/main/objects/{key}", content=b"x").status_code == 200


def with_token(world: World, api: Api, job_id: str) -> Api:
    return Api(str(api.http.base_url).removesuffix("/api/v1/"), world.job_token(job_id))


def make_run(world: World, job_id: str, name: str = "inside") -> str:
    made = JournalMaker(name=name).log("train", {"loss": [1.0]}, [1])
    with world.database.writing() as session:
        row = jobs.get_job(session, job_id)
        assert row is not None
        # as its first attempt would, whether or not it has begun
        who = JobIdentity(job_id, 1, row.project_id, reads=(), tree=None, writes=StoreGrant(row.output, ""))
        return run_service.create(session, world.state, who, CreateRun.model_validate(made.header)).id


class TestOfJobs:
    def test_data_code_output_and_runs_are_connected_by_themselves(self, world: World, api: Api) -> None:
        job = world.started(name="train", data={DATA: "images"}, code={"store": CODE})
        with with_token(world, api, job) as token:
            put(token, f"jobs/{job}/model/weights.pt")
            put(token, f"jobs/{job}/log.txt")
        run = make_run(world, job)
        nodes, edges = look(api, job)
        assert edges == {
            ("store:main/data/images/", "data", f"job:{job}"),
            ("store:main/code/v1", "code", f"job:{job}"),
            (f"job:{job}", "output", f"store:main/jobs/{job}/"),
            (f"job:{job}", "made", f"run:{run}"),
        }
        assert {(one["kind"], one["label"], one["distance"]) for one in nodes.values()} == {
            ("job", "train", 0),
            ("store", "store://main/data/images/", -1),
            ("store", "store://main/code/v1", -1),
            ("store", f"store://main/jobs/{job}/", 1),
            ("run", "inside", 1),
        }
        assert nodes[f"job:{job}"]["state"] == "running"
        assert nodes[f"run:{run}"]["state"] == "running"

    def test_there_is_no_output_before_something_is_written(self, world: World, api: Api) -> None:
        job = world.started(data={DATA: "images"})
        assert {kind for _, kind, _ in look(api, job)[1]} == {"data"}

    def test_an_uploaded_code_folder_is_a_node(self, world: World, api: Api) -> None:
        tree = api.json("POST", "/trees", json={"files": []})["digest"]
        first, second = world.submit(code={"tree": tree}), world.submit(code={"tree": tree})
        nodes, _ = look(api, first, direction="up")
        (code,) = (one for one in nodes.values() if one["kind"] == "code")
        assert code["label"] == f"code {tree[:12]}"
        assert tree == Tree(files=[]).digest
        assert set(look(api, code["id"])[0]) == {code["id"], f"job:{first}", f"job:{second}"}

    def test_one_job_reads_what_another_one_wrote(self, world: World, api: Api) -> None:
        first = world.started()
        with with_token(world, api, first) as token:
            put(token, f"jobs/{first}/model/weights.pt")
        second = world.submit(data={f"store://main/jobs/{first}/model": "model"})
        nodes, _ = look(api, second, direction="up")
        assert [one["distance"] for one in nodes.values()] == [0, -1, -2, -3]
        assert f"job:{first}" in nodes

    def test_metrics_pushed_to_a_job_make_its_own_run(self, world: World, api: Api) -> None:
        job = world.started()
        api.json("POST", f"/jobs/{job}/metrics", json={"metrics": [{"values": {"acc": 0.5}}]})
        assert (f"job:{job}", "made", f"run:{own_run_id(job)}") in look(api, job)[1]

    def test_a_job_from_before_is_taken_in_when_it_is_asked_for(self, world: World, api: Api) -> None:
        from danlu.store.sql.flow_tables import FlowEdgeRow, FlowNodeRow

        job = world.submit(data={DATA: "images"})
        with world.database.writing() as session:
            session.query(FlowEdgeRow).delete()
            session.query(FlowNodeRow).delete()
        assert set(look(api, job)[0]) == {f"job:{job}", "store:main/data/images/"}


class TestDeleting:
    def test_a_deleted_job_stays_as_a_tombstone(self, world: World, api: Api) -> None:
        job = world.submit(name="gone", data={DATA: "images"})
        run = make_run(world, job)
        api("POST", f"/jobs/{job}/stop")
        world.tick()
        assert api("DELETE", f"/jobs/{job}").status_code == 204
        nodes, edges = look(api, run, direction="up")
        stone = nodes[f"job:{job}"]
        assert (stone["label"], stone["state"], stone["deleted_at"] is not None) == ("gone", None, True)
        assert edges == {
            ("store:main/data/images/", "data", f"job:{job}"),
            (f"job:{job}", "made", f"run:{run}"),
        }
        assert look(api, f"job:{job}")[0].keys() == nodes.keys()

    def test_a_run_in_the_bin_is_deleted_until_it_is_restored(self, world: World, api: Api) -> None:
        run = make_run(world, world.submit())
        is_deleted = []
        for method, path in (("DELETE", f"/runs/{run}"), ("POST", f"/runs/{run}/restore")):
            api(method, path)
            is_deleted.append(look(api, run)[0][f"run:{run}"]["deleted_at"] is not None)
        assert is_deleted == [True, False]

    def test_runs_of_a_deleted_folder(self, world: World, api: Api) -> None:
        run = make_run(world, world.submit())
        api.json("PATCH", f"/runs/{run}", json={"folder": "a/b", "name": "renamed"})
        assert api("DELETE", "/folders", params={"path": "a"}).status_code == 204
        node = look(api, run)[0][f"run:{run}"]
        assert (node["label"], node["deleted_at"] is not None) == ("renamed", True)

    def test_a_path_is_deleted_when_nothing_is_left_and_lives_with_the_next_file(self, world: World, api: Api) -> None:
        put(api, "data/images/1.png")
        put(api, "data/images/2.png")
        put(api, "data/images-other/2.png")
        world.submit(data={DATA: "images"})
        is_deleted = []
        for method, path, options in (
            ("DELETE", "/buckets/main/objects/data/images/1.png", {}),
            ("DELETE", "/buckets/main/objects", {"params": {"prefix": "data/images/"}}),
            ("PUT", "/buckets/main/objects/data/images/3.png", {"content": b"x"}),
        ):
            assert api(method, path, **options).status_code == 200
            is_deleted.append(look(api, DATA)[0]["store:main/data/images/"]["deleted_at"] is not None)
        assert is_deleted == [False, True, False]


class TestSeeing:
    def test_what_is_not_yours_is_hidden(self, world: World, api: Api) -> None:
        ann = world.add_user("ann", "vision")
        both = world.add_user("both", "vision")
        with world.database.writing() as session:
            projects.set_member(session, 1, both.user_id, "member")
        both = world.identity("both")
        theirs = world.submit(both, project="default", name="secret", data={"store://vision/data/": "data"})
        mine = world.submit(both, project="vision", data={f"store://main/jobs/{theirs}/": "data"})
        base = str(api.http.base_url).removesuffix("/api/v1/")
        with Api(base, world.api_key(ann)) as hers:
            nodes, edges = look(hers, "store://vision/data")
            (hidden,) = (one for one in nodes.values() if one["is_hidden"])
            assert hidden["id"].startswith("hidden:")
            assert {**hidden, "id": "", "kind": "", "distance": 0} == {
                "id": "",
                "kind": "",
                "key": None,
                "label": "",
                "project": None,
                "distance": 0,
                "is_hidden": True,
                "state": None,
                "created_at": None,
                "deleted_at": None,
            }
            assert edges == {("store:vision/data/", "data", hidden["id"])}
            assert "secret" not in hers("GET", "/flow", params={"node": "store://vision/data"}).text
            for node in (theirs, f"job:{theirs}", hidden["id"], f"store:main/jobs/{theirs}/"):
                assert hers("GET", "/flow", params={"node": node}).status_code in (404, 422), node
            assert hers("GET", "/flow", params={"node": mine}).status_code == 200

    @pytest.mark.parametrize(
        ("query", "status", "told"),
        [
            ({"node": "nonsense"}, 422, "expected KIND:ID with one of run, artifact, job"),
            ({"node": "job:train-000000000000000001"}, 404, "no data flow is recorded for"),
            ({"node": "job:nobody"}, 404, "no job named 'nobody'"),
            ({"node": "job:x", "depth": 0}, 422, "depth"),
            ({"node": "job:x", "depth": 101}, 422, "depth"),
            ({"node": "job:x", "direction": "left"}, 422, "direction"),
            ({"node": "job:x", "cursor": "y"}, 422, "cursor: 'y' is not a cursor of this list"),
        ],
    )
    def test_bad_questions(self, api: Api, query: dict[str, Any], status: int, told: str) -> None:
        answer = api("GET", "/flow", params=query)
        assert (answer.status_code, told in answer.json()["message"]) == (status, True), answer.text

    def test_names_are_enough(self, world: World, api: Api) -> None:
        job = world.submit(name="nice")
        run = make_run(world, job, name="lucky")
        assert api.json("GET", "/flow", params={"node": "job:nice"})["node"] == f"job:{job}"
        assert api.json("GET", "/flow", params={"node": "run:lucky"})["node"] == f"run:{run}"
