"""The model registry over HTTP: sources, numbers, aliases, metrics, comparing, deleting."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from tests.support.databases import Databases
from tests.support.journals import JournalMaker
from tests.support.shared import Shared, share_world
from tests.support.world import Api, World, make_node, make_world

from danlu.errors import Unavailable
from danlu.server.models import operations, service
from danlu.server.runs import service as run_service
from danlu.store.objects import packed
from danlu.wire.models import RegisterModel
from danlu.wire.runs import CreateRun


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


def put(api: Api, key: str, data: bytes = b"weights") -> None:
    assert api("PUT", f"/buckets/main/objects/{key}", content=data).status_code == 200


def keys(api: Api, prefix: str) -> list[str]:
    return [one["key"] for one in api.json("GET", "/buckets/main/objects", params={"prefix": prefix})["objects"]]


def register(api: Api, name: str = "mnist", **fields: Any) -> Any:
    if not {"job", "artifact", "path"} & set(fields):
        put(api, "up/model.pt")
        fields["path"] = "store://main/up/"
    return api.json("POST", "/models", json={"name": name, **fields})


def trained(world: World, api: Api, *, acc: float = 0.9, **spec: Any) -> str:
    """A job that has written a model, with a run inside it."""
    job = world.started(name="train", hyperparameters={"lr": 0.1, "seed": 1}, **spec)
    with Api(str(api.http.base_url).removesuffix("/api/v1/"), world.job_token(job)) as token:
        put(token, f"jobs/{job}/model/weights.pt")
        put(token, f"jobs/{job}/model/config/a.json", b"{}")
        put(token, f"jobs/{job}/log.txt")
    made = JournalMaker(name="inside", hparams={"lr": 0.2}).log("val", {"acc": [0.1, acc]}, [1, 2])
    with world.database.writing() as session:
        who = world.job_identity(job)
        number = run_service.create(session, world.state, who, CreateRun.model_validate(made.header)).number
    world.state.metrics.append(number, made.run, made.name, offset=0, data=made.data, now=world.clock())
    return job


class TestRegistering:
    def test_from_a_job_with_its_metrics_at_that_moment(self, world: World, api: Api) -> None:
        job = trained(world, api)
        made = register(
            api,
            job=job,
            format="PYTORCH",
            framework="torch 2.13",
            environment={"image": "registry.example/torch:2", "command": "serve", "env": {"WORKERS": "2"}},
            metrics={"test/acc": 0.8},
            aliases=["champion"],
            description="first",
            tags={"stage": "trial"},
        )
        run = made.pop("run")
        assert run.startswith("run-")
        folder = f"models/mnist/{made['id']}/"
        assert {name: made[name] for name in made if name not in ("id", "created_at")} == {
            "model": "mnist",
            "project": "default",
            "version": 1,
            "aliases": ["champion"],
            "source": f"job:{job}",
            "source_name": "train",
            "job": job,
            "artifact": None,
            "path": f"store://main/{folder}",
            "is_copied": True,
            "size": 9,
            "num_files": 2,
            "format": "pytorch",
            "framework": "torch 2.13",
            "environment": {"image": "registry.example/torch:2", "command": "serve", "env": {"WORKERS": "2"}},
            "metrics": {"val/acc": 0.9, "test/acc": 0.8},
            "hparams": {"lr": 0.2, "seed": 1},
            "tags": {"stage": "trial"},
            "description": "first",
            "owner": "admin",
        }
        assert keys(api, "models/") == [f"{folder}config/a.json", f"{folder}weights.pt"]
        api.json("POST", f"/jobs/{job}/metrics", json={"metrics": [{"values": {"val/acc": 0.1}}]})
        assert api.json("GET", "/models/mnist/versions/1")["metrics"]["val/acc"] == 0.9
        assert api.json("GET", f"/jobs/{job}")["models"] == ["mnist:1"]

    def test_the_image_of_the_job_is_the_model_s(self, tmp_path: Any) -> None:
        node = make_node(image_tool="docker")
        with make_world(tmp_path, node) as world, world.serving() as url, Api(url, world.api_key()) as api:
            made = register(api, job=trained(world, api, image="registry.example/torch:2"))
        assert made["environment"]["image"] == "registry.example/torch:2"

    def test_a_part_of_a_job_s_output_without_a_copy(self, world: World, api: Api) -> None:
        job = trained(world, api)
        made = register(api, job=job, folder="model/config", copy_files=False)
        assert (made["path"], made["num_files"]) == (f"store://main/jobs/{job}/model/config/", 1)
        assert keys(api, "models/") == []
        other = register(api, job=job, folder="/", copy_files=False)
        assert (other["path"], other["num_files"]) == (f"store://main/jobs/{job}/", 3)

    def test_metrics_that_nobody_has_counted_yet_count(self, world: World, api: Api) -> None:
        assert register(api, job=trained(world, api, acc=0.75))["metrics"] == {"val/acc": 0.75}

    def test_from_a_single_object(self, world: World, api: Api) -> None:
        put(api, "deep/down/model.onnx")
        made = register(api, path="main/deep/down/model.onnx")
        assert keys(api, "models/") == [f"models/mnist/{made['id']}/model.onnx"]
        folder = register(api, path="store://main/deep", copy_files=False)
        assert (folder["path"], folder["num_files"]) == ("store://main/deep/", 1)
        kept = register(api, path="main/deep/down/model.onnx", copy_files=False)
        assert kept["path"] == "store://main/deep/down/model.onnx"

    def test_to_a_folder_of_ones_own(self, world: World, api: Api) -> None:
        made = register(api, to="store://main/prod/mnist")
        assert made["path"] == f"store://main/prod/mnist/{made['id']}/"

    def test_the_same_request_twice_is_one_version(self, world: World, api: Api) -> None:
        first = register(api, request_id="12345678")
        assert register(api, request_id="12345678") == first
        assert register(api)["version"] == 2

    @pytest.mark.parametrize(
        ("body", "status", "told"),
        [
            ({}, 422, "give one of job, artifact or path; given: none"),
            ({"job": "a", "path": "main/b"}, 422, "give one of job, artifact or path; given: job, path"),
            ({"path": "main/x", "name": "a b"}, 422, "expected a model name of up to 100 letters"),
            ({"path": "main/x", "aliases": ["latest"]}, 422, "expected an alias of a letter"),
            ({"path": "main/x", "aliases": ["v3"]}, 422, "expected an alias of a letter"),
            ({"path": "main/x", "format": "two words"}, 422, "expected a format of one word"),
            ({"path": "main/nothing/"}, 404, "nothing is stored at store://main/nothing/"),
            ({"path": "main/"}, 422, "is a whole bucket"),
            ({"path": "elsewhere/x"}, 404, "no bucket 'elsewhere'"),
            ({"path": "http://x"}, 422, "expected a store path such as"),
            ({"job": "train-000000000000000001"}, 404, "no job"),
            ({"artifact": "nothing:1"}, 404, "no artifact 'nothing'"),
            ({"path": "main/up/", "project": "nothing"}, 404, "no project 'nothing'"),
            ({"path": "main/up/", "run": "nothing"}, 404, "no run 'nothing'"),
            ({"path": "main/up/", "to": "nothing/x"}, 404, "to: no bucket 'nothing'"),
            ({"path": "main/up/", "folder": "x"}, 422, "folder is a part of a job's output"),
            ({"path": "main/up/", "metrics": {"a": "NaN?"}}, 422, "metrics"),
            ({"path": "main/up/", "metrics": {"a": "inf"}}, 422, "metrics"),
        ],
    )
    def test_bad_requests_store_nothing(self, world: World, api: Api, body: Any, status: int, told: str) -> None:
        put(api, "up/model.pt")
        answer = api("POST", "/models", json={"name": "mnist", **body})
        assert (answer.status_code, told in answer.json()["message"]) == (status, True), answer.text
        assert api.json("GET", "/models")["items"] == []


class TestArtifacts:
    def upload(self, api: Api) -> Any:
        from danlu.client import Client

        base, key = str(api.http.base_url), api.http.headers["Authorization"].split()[1]
        return Client(base.removesuffix("/api/v1/"), key)

    def test_files_are_referred_to_and_cannot_be_deleted_meanwhile(self, world: World, api: Api, tmp_path: Any) -> None:
        (tmp_path / "w.pt").write_bytes(b"weights")
        with self.upload(api) as client:
            version = client.artifacts.upload("weights", tmp_path / "w.pt")
            made = client.models.register("mnist", artifact="weights:1", format="pytorch")
            assert (made.artifact, made.path, made.is_copied, made.size) == (version.id, None, False, 7)
            assert made.source_name == "weights:1"
            files = client.models.download("mnist", tmp_path / "out")
            assert [file.read_bytes() for file in files] == [b"weights"]
            graph = client.flow(made.id, direction="up")
            assert set(graph.nodes) == {f"model:{made.id}", f"artifact:{version.id}"}
            with pytest.raises(Exception, match="has the files of model mnist:1"):
                client.artifacts.delete("weights:1")
            copied = client.models.register("mnist", artifact=version.id, copy=True)
            assert copied.path == f"store://main/models/mnist/{copied.id}/"
            assert [file.read_bytes() for file in client.models.download("mnist", tmp_path / "two")] == [b"weights"]
            client.models.delete_version("mnist:1")
            client.artifacts.delete("weights:1")
            assert client.flow("model:mnist:2").sources(f"model:{copied.id}")[0].deleted_at is not None

    def test_a_damaged_chunk_is_not_copied_into_a_model(self, world: World, api: Api, tmp_path: Any) -> None:
        (tmp_path / "w.pt").write_bytes(os.urandom(4 << 20))
        with self.upload(api) as client:
            version = client.artifacts.upload("weights", tmp_path / "w.pt")
            (file,) = client.artifacts.manifest(version).files
            assert len(file.chunks) > 1
            digest = file.chunks[1].sha256
            place = world.database.read(packed.places_of, [digest])[digest]
            (stored,) = world.folder.rglob(place.pack)
            with stored.open("r+b") as opened:
                opened.seek(place.start)
                opened.write(bytes(place.size))
            with pytest.raises(Unavailable, match=f"the stored bytes of {digest} are damaged"):
                client.models.register("mnist", artifact="weights:1", copy=True)
            assert list(client.models.list()) == []


class TestAliases:
    def test_an_alias_is_at_one_version(self, world: World, api: Api) -> None:
        for _ in range(3):
            register(api)
        for version in ("1", "v3", "latest", "2"):
            api.json("PUT", "/models/mnist/aliases/champion", json={"version": version})
        assert api.json("GET", "/models/mnist")["aliases"] == {"champion": 2}
        assert api.json("GET", "/models/mnist/versions/champion")["version"] == 2
        api.json("PUT", "/models/mnist/aliases/spare", json={"version": "champion"})
        assert api.json("GET", "/models/mnist/versions/2")["aliases"] == ["champion", "spare"]
        assert api("DELETE", "/models/mnist/aliases/champion").status_code == 204
        assert api("GET", "/models/mnist/versions/champion").status_code == 404
        assert api("PUT", "/models/mnist/aliases/9", json={"version": "1"}).status_code == 422
        assert api("PUT", "/models/mnist/aliases/x", json={"version": "9"}).status_code == 404


class TestLooking:
    def test_lists_are_paged_and_filtered(self, world: World, api: Api) -> None:
        for name in ("one", "two", "three"):
            register(api, name)
        api.json("PATCH", "/models/two", json={"tags": {"team": "vision"}, "description": "2"})
        page = api.json("GET", "/models", params={"limit": 2})
        assert [one["name"] for one in page["items"]] == ["three", "two"]
        rest = api.json("GET", "/models", params={"limit": 2, "cursor": page["next"]})
        assert ([one["name"] for one in rest["items"]], rest["next"]) == (["one"], None)
        found = api.json("GET", "/models", params={"tag": "team=vision"})["items"]
        assert [(one["name"], one["description"], one["num_versions"]) for one in found] == [("two", "2", 1)]
        assert [one["name"] for one in api.json("GET", "/models", params={"name": "THR"})["items"]] == ["three"]
        assert api("GET", "/models", params={"tag": "team"}).status_code == 422

    def test_versions_side_by_side(self, world: World, api: Api) -> None:
        register(api, job=trained(world, api, acc=0.7), format="pytorch")
        register(api, job=trained(world, api, acc=0.8), format="onnx", metrics={"size": 3})
        found = api.json("GET", "/models/mnist/compare", params={"version": ["1", "latest"]})
        assert [one["version"] for one in found["versions"]] == [1, 2]
        assert found["metrics"] == [
            {"name": "size", "values": [None, 3.0], "is_same": False},
            {"name": "val/acc", "values": [0.7, 0.8], "is_same": False},
        ]
        assert found["hparams"] == [
            {"name": "lr", "values": [0.2, 0.2], "is_same": True},
            {"name": "seed", "values": [1, 1], "is_same": True},
        ]
        assert {"name": "format", "values": ["pytorch", "onnx"], "is_same": False} in found["facts"]

    def test_a_version_can_be_described_but_not_measured_anew(self, world: World, api: Api) -> None:
        made = register(api, metrics={"acc": 0.5})
        changed = api.json(
            "PATCH",
            "/models/mnist/versions/1",
            json={"description": "good", "tags": {"a": "b"}, "format": "onnx", "environment": {"image": "x"}},
        )
        assert changed == {
            **made,
            "description": "good",
            "tags": {"a": "b"},
            "format": "onnx",
            "environment": {"image": "x", "command": None, "env": {}},
        }
        assert api("PATCH", "/models/mnist/versions/1", json={"metrics": {"acc": 1.0}}).status_code == 422

    def test_the_same_name_in_two_projects(self, world: World, api: Api) -> None:
        world.add_user("ann", "vision")
        register(api)
        register(api, project="vision", copy_files=False)
        answer = api("GET", "/models/mnist")
        assert answer.status_code == 409
        assert "default/mnist, vision/mnist; name the project" in answer.json()["message"]
        assert api.json("GET", "/models/mnist", params={"project": "vision"})["project"] == "vision"


class TestDeleting:
    def test_files_stay_unless_asked(self, world: World, api: Api) -> None:
        first, second = register(api), register(api)
        assert api.json("DELETE", "/models/mnist/versions/1") == {"num_versions": 1, "num_files": 0}
        assert keys(api, f"models/mnist/{first['id']}/") != []
        gone = api.json("DELETE", "/models/mnist/versions/2", params={"files": True})
        assert gone == {"num_versions": 1, "num_files": 1}
        assert keys(api, f"models/mnist/{second['id']}/") == []
        assert register(api)["version"] == 3, "a number is not given twice"
        api.json("DELETE", "/models/mnist")
        assert register(api)["version"] == 4, "also not after all of them were deleted"

    def test_files_that_are_not_its_own_are_never_deleted(self, world: World, api: Api) -> None:
        register(api, copy_files=False)
        answer = api("DELETE", "/models/mnist/versions/1", params={"files": True})
        assert answer.status_code == 409
        assert "has no files of its own: they are those of store://main/up/" in answer.json()["message"]

    def test_files_that_another_version_has_are_not_deleted(self, world: World, api: Api) -> None:
        first = register(api)
        register(api, "other", path=first["path"], copy_files=False)
        answer = api("DELETE", "/models/mnist", params={"files": True})
        assert (answer.status_code, "those of other:1 as well" in answer.json()["message"]) == (409, True)
        assert keys(api, first["path"].removeprefix("store://main/")) != []

    def test_a_whole_model(self, world: World, api: Api) -> None:
        register(api, aliases=["champion"])
        register(api)
        assert api.json("DELETE", "/models/mnist", params={"files": True}) == {"num_versions": 2, "num_files": 2}
        assert api("GET", "/models/mnist").status_code == 404
        assert register(api)["version"] == 3, "numbers of deleted versions stay taken"

    def test_a_project_with_models_is_not_empty(self, world: World, api: Api) -> None:
        api.json("POST", "/projects", json={"name": "small"})
        register(api, project="small", copy_files=False)
        answer = api("DELETE", "/projects/small")
        assert (answer.status_code, "1 model" in answer.json()["message"]) == (409, True)


class TestFlow:
    def test_a_version_leads_back_to_data_and_code_and_forward_to_jobs(self, world: World, api: Api) -> None:
        job = trained(world, api, data={"store://main/data/": "data"}, code={"store": "store://main/code/"})
        made = register(api, job=job)
        tuned = world.submit(data={made["path"]: "model"})
        found = api.json("GET", "/flow", params={"node": "model:mnist:latest"})
        assert {(one["source"], one["relation"], one["target"]) for one in found["edges"]} == {
            ("store:main/data/", "data", f"job:{job}"),
            ("store:main/code/", "code", f"job:{job}"),
            (f"job:{job}", "output", f"store:main/jobs/{job}/"),
            (f"store:main/jobs/{job}/", "registered", f"model:{made['id']}"),
            (f"model:{made['id']}", "data", f"job:{tuned}"),
        }
        assert found["nodes"][0]["label"] == "mnist:1"

    def test_a_deleted_version_stays_as_a_tombstone(self, world: World, api: Api) -> None:
        made = register(api)
        api.json("DELETE", "/models/mnist/versions/1")
        nodes = api.json("GET", "/flow", params={"node": "store://main/up"})["nodes"]
        assert [(one["label"], one["deleted_at"] is not None) for one in nodes] == [
            ("store://main/up/", False),
            ("mnist:1", True),
        ]
        assert api("GET", "/flow", params={"node": made["id"]}).status_code == 200


class TestNumbers:
    def test_two_servers_never_give_a_number_twice(self, databases: Databases, tmp_path: Any) -> None:
        """Threads on two connections to one database, as two servers have them."""
        url = databases.url()
        with (
            make_world(tmp_path / "one", database_url=url) as one,
            make_world(tmp_path / "two", database_url=url) as two,
        ):
            for world in (one, two):
                writer = world.state.objects.put(_path("up/model.pt"))
                writer.write(b"x")
                writer.commit(None)
            failures: list[BaseException] = []

            def work(world: World, alias: str) -> None:
                try:
                    for _ in range(10):
                        body = RegisterModel(name="mnist", path="store://main/up/", copy_files=False, aliases=[alias])
                        operations.register(world.state, world.admin, body)
                except BaseException as error:
                    failures.append(error)

            threads = [
                threading.Thread(target=work, args=(world, alias))
                for world in (one, two)
                for alias in ("champion", "spare")
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert failures == []
            with one.database.reading() as session:
                model = service.find_model(session, one.admin, "mnist")
                from danlu.store.queries import models

                found = models.list_versions(session, model.number, before=None, limit=1000)
                assert [row.version for row in found] == list(range(40, 0, -1))
                assert len(models.aliases_of(session, [model.number])) == 2


def _path(key: str) -> Any:
    from danlu.spec.paths import StorePath

    return StorePath("main", key)
