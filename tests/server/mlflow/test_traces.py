"""Traces: what clients before and from 3.0 log, search, tag and delete."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.server.mlflow.conftest import Door, told
from tests.support.databases import KINDS, Databases
from tests.support.world import Api, World, make_world

from danlu.auth.identity import Role
from danlu.store.sql.mlflow_trace_tables import TraceRow, TraceTextRow

GONE = (404, "RESOURCE_DOES_NOT_EXIST")
WRONG = (400, "INVALID_PARAMETER_VALUE")
JSON = {"Content-Type": "application/json"}


def pairs(**values: str) -> list[dict[str, str]]:
    return [{"key": key, "value": value} for key, value in values.items()]


def begin(door: Door, experiment: str = "0", at: int = 1000, **more: Any) -> str:
    made = door.post("traces", experiment_id=experiment, timestamp_ms=at, **more)
    return str(made["trace_info"]["request_id"])


def end(door: Door, trace: str, **body: Any) -> Any:
    return told(door.http.patch(f"/mlflow/traces/{trace}", json=body))["trace_info"]


def found(door: Door, experiment: str, **query: Any) -> list[str]:
    return [one["request_id"] for one in door.get("traces", experiment_ids=[experiment], **query)["traces"]]


def spans_of(door: Door, trace: str) -> httpx.Response:
    return door.http.get("/mlflow/get-trace-artifact", params={"request_id": trace})


def send_spans(door: Door, trace: str, data: bytes = b'{"spans": []}') -> int:
    return door.http.put(f"/mlflow-artifacts/artifacts/traces/{trace}/traces.json", content=data).status_code


@pytest.fixture(scope="module", params=KINDS)
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("traces")
    postgres = request.getfixturevalue("postgres") if request.param == "postgresql" else None
    databases = Databases(str(request.param), folder, postgres)
    with make_world(folder / "data", database_url=databases.url()) as made:
        yield made
    databases.drop()


@pytest.fixture
def experiment(door: Door, request: pytest.FixtureRequest) -> str:
    return str(door.post("experiments/create", name=f"of {request.node.name}"[:100])["experiment_id"])


def test_a_trace_begins_and_ends(door: Door, experiment: str) -> None:
    trace = begin(door, experiment, request_metadata=pairs(a="1", b="2"), tags=pairs(x="1", y="2"))
    first = door.get(f"traces/{trace}/info")["trace_info"]
    assert (first["status"], first["execution_time_ms"], first["timestamp_ms"]) == ("IN_PROGRESS", 0, 1000)
    last = end(door, trace, timestamp_ms=3000, status="OK", request_metadata=pairs(a="3", c="4"), tags=pairs(x="5"))
    assert last == {
        "request_id": trace,
        "experiment_id": experiment,
        "timestamp_ms": 1000,
        "execution_time_ms": 2000,
        "status": "OK",
        "request_metadata": pairs(a="3", b="2", c="4"),
        "tags": pairs(**{"mlflow.artifactLocation": f"mlflow-artifacts:/traces/{trace}", "x": "5", "y": "2"}),
    }
    assert door.get(f"traces/{trace}/info")["trace_info"] == last


def test_spans_are_a_file_of_the_trace(door: Door, experiment: str) -> None:
    trace = begin(door, experiment)
    assert spans_of(door, trace).status_code == 404
    assert send_spans(door, trace, b'{"spans": [1]}') == 200
    answer = spans_of(door, trace)
    assert answer.content == b'{"spans": [1]}'
    assert answer.headers["Content-Disposition"] == "attachment; filename=traces.json"
    assert answer.headers["Content-Security-Policy"] == "sandbox"
    assert door.http.get(f"/mlflow-artifacts/artifacts/traces/{trace}/traces.json").content == b'{"spans": [1]}'
    assert send_spans(door, "tr-" + "0" * 32) == 404
    assert door.http.get("/mlflow/get-trace-artifact").json()["error_code"] == "INVALID_PARAMETER_VALUE"


def test_traces_are_searched(door: Door, experiment: str) -> None:
    first, second, third = (begin(door, experiment, at, tags=pairs(team=f"t{at}")) for at in (10, 20, 30))
    tags = pairs(**{"mlflow.traceName": "predict"})
    end(door, second, timestamp_ms=520, status="ERROR", tags=tags, request_metadata=pairs(**{"mlflow.sourceRun": "r"}))
    assert found(door, experiment) == [third, second, first]
    assert found(door, experiment, filter="status = 'ERROR'") == [second]
    assert found(door, experiment, filter="trace.status != 'ERROR'", order_by=["timestamp ASC"]) == [first, third]
    assert found(door, experiment, filter="timestamp_ms >= 20 AND execution_time < 600") == [second]
    assert found(door, experiment, filter="tags.team IN ('t10', 't30')") == [third, first]
    assert found(door, experiment, filter="name = 'predict' AND run_id = 'r'") == [second]
    assert found(door, experiment, filter="metadata.`mlflow.sourceRun` = 'r'") == [second]
    assert found(door, experiment, filter=f"request_id = '{first}'") == [first]
    assert found(door, experiment, order_by=["tags.team ASC"]) == [first, second, third]
    assert found(door, experiment, order_by=["execution_time_ms DESC"])[0] == second
    page = door.get("traces", experiment_ids=[experiment], max_results=2)
    assert [one["request_id"] for one in page["traces"]] == [third, second]
    assert found(door, experiment, page_token=page["next_page_token"]) == [first]
    for filter in ("metrics.x > 1", "nothing = 'a'", "status = 1", "timestamp = 'a'", "x.y = 'z'"):
        query = {"experiment_ids": [experiment], "filter": filter}
        assert door.refused("GET", "traces", params=query) == WRONG, filter
    runs = {"experiment_ids": [experiment], "filter": "metadata.status = 'RUNNING'"}
    assert door.refused("POST", "runs/search", json=runs) == WRONG


def test_tags_change(door: Door, experiment: str) -> None:
    trace = begin(door, experiment, tags=pairs(a="1", b="2"))
    path = f"/mlflow/traces/{trace}/tags"
    assert door.http.patch(path, json={"key": "a", "value": "é" * 9000}).status_code == 200
    assert door.http.request("DELETE", path, json={"key": "b"}).status_code == 200
    tags = {one["key"]: one["value"] for one in door.get(f"traces/{trace}/info")["trace_info"]["tags"]}
    assert tags == {"a": "é" * 8000, "mlflow.artifactLocation": f"mlflow-artifacts:/traces/{trace}"}
    assert door.refused("DELETE", f"traces/{trace}/tags", json={"key": "b"}) == GONE
    location = {"key": "mlflow.artifactLocation", "value": "file:///etc"}
    assert door.refused("PATCH", f"traces/{trace}/tags", json=location) == WRONG
    assert end(door, trace, timestamp_ms=1, status="OK", tags=[location])["tags"][1]["value"].endswith(f"/{trace}")


class TestDeleting:
    def test_by_time_oldest_first_and_by_id(self, door: Door, experiment: str) -> None:
        traces = [begin(door, experiment, at) for at in (30, 10, 20, 40)]
        delete = {"experiment_id": experiment}
        assert door.post("traces/delete-traces", **delete, max_timestamp_millis=30, max_traces=1)["traces_deleted"] == 1
        assert found(door, experiment) == [traces[3], traces[0], traces[2]]
        assert door.post("traces/delete-traces", **delete, max_timestamp_millis=30)["traces_deleted"] == 2
        unknown = "tr-" + "0" * 32
        assert door.post("traces/delete-traces", **delete, request_ids=[traces[3], unknown])["traces_deleted"] == 1
        assert found(door, experiment) == []
        assert door.refused("GET", f"traces/{traces[3]}/info") == GONE

    def test_more_than_fit_in_a_transaction(self, world: World, door: Door, experiment: str) -> None:
        model = begin(door, experiment, 0)
        with world.database.writing() as session:
            row = session.query(TraceRow).filter_by(id=model).one()
            same: dict[str, Any] = {
                "project_id": row.project_id,
                "experiment": row.experiment,
                "owner_id": row.owner_id,
            }
            same |= {"status": "OK", "created_at": row.created_at}
            session.add_all(TraceRow(id=f"tr-{at:032x}", began_ms=at, **same) for at in range(1, 1201))
        delete = {"experiment_id": experiment, "max_timestamp_millis": 5000}
        numbers = [door.post("traces/delete-traces", **delete)["traces_deleted"] for _ in range(3)]
        assert numbers == [1000, 201, 0]

    def test_the_bytes_go_as_well(self, world: World, door: Door, experiment: str) -> None:
        gone, kept = begin(door, experiment, tags=pairs(a="1")), begin(door, experiment)
        assert [send_spans(door, gone), send_spans(door, kept)] == [200, 200]
        with world.database.reading() as session:
            number = session.query(TraceRow).filter_by(id=gone).one().number
        assert [len(stored(world, one)) for one in (gone, kept)] == [1, 1]
        door.post("traces/delete-traces", experiment_id=experiment, request_ids=[gone])
        assert [len(stored(world, one)) for one in (gone, kept)] == [0, 1]
        with world.database.reading() as session:
            assert session.query(TraceTextRow).filter_by(trace=number).count() == 0

    def test_they_go_with_their_project(self, world: World, url: str) -> None:
        owner = world.add_user("short", "short", Role.OWNER)
        inside = Door(url, world.api_key(owner), "short")
        trace = begin(inside, tags=pairs(a="1"))
        inside.http.close()
        with Api(url, world.api_key()) as api:
            assert [api("DELETE", path).status_code for path in ("/buckets/short", "/projects/short")] == [204, 204]
        with world.database.reading() as session:
            assert session.query(TraceRow).filter_by(id=trace).count() == 0

    @pytest.mark.parametrize(
        "body",
        [{}, {"max_timestamp_millis": 1, "request_ids": ["tr-1"]}, {"request_ids": ["tr-1"], "max_traces": 1},
         {"max_timestamp_millis": 1, "max_traces": 0}, {"request_ids": ["x"] * 1001}, {"request_ids": "tr-1"}],
    )  # fmt: skip
    def test_a_wrong_request_deletes_nothing(self, door: Door, experiment: str, body: dict[str, Any]) -> None:
        trace = begin(door, experiment, 0)
        assert door.refused("POST", "traces/delete-traces", json={"experiment_id": experiment, **body}) == WRONG
        assert found(door, experiment) == [trace]


def stored(world: World, trace: str) -> list[Path]:
    """Files of a trace on disk."""
    return list(world.folder.glob(f"store/*/mlflow/traces/{trace}/*"))


class TestHostileRequests:
    @pytest.mark.parametrize(
        "body",
        [{}, {"experiment_id": 5, "timestamp_ms": 1}, {"timestamp_ms": -1}, {"timestamp_ms": "soon"},
         {"timestamp_ms": 2**70}, {"timestamp_ms": 1, "tags": [{"value": "a"}]}, {"timestamp_ms": 1, "tags": "a"},
         {"timestamp_ms": 1, "tags": [{"key": "k" * 251, "value": ""}]}, {"timestamp_ms": 1, "tags": [{"key": ""}]},
         {"timestamp_ms": 1, "request_metadata": [{"key": str(n)} for n in range(201)]},
         {"timestamp_ms": 1, "experiment_id": "9" * 15}, {"timestamp_ms": 1, "experiment_id": "x"}],
    )  # fmt: skip
    def test_a_wrong_start_is_refused(self, door: Door, body: dict[str, Any]) -> None:
        given = {"experiment_id": "0", **body} if body else {}
        assert door.refused("POST", "traces", json=given) in (WRONG, GONE)

    def test_a_wrong_end_changes_nothing(self, door: Door) -> None:
        trace = begin(door)
        before = door.get(f"traces/{trace}/info")
        for body in ({}, {"timestamp_ms": 1}, {"timestamp_ms": 1, "status": "DONE"}, {"timestamp_ms": 1, "status": 1}):
            assert door.refused("PATCH", f"traces/{trace}", json=body) == WRONG
        assert door.refused("PATCH", "traces/tr-x", json={"timestamp_ms": 1, "status": "OK"}) == GONE
        assert door.get(f"traces/{trace}/info") == before

    def test_tags_have_a_limit_over_many_requests(self, door: Door) -> None:
        trace = begin(door)
        body: dict[str, Any] = {"timestamp_ms": 1, "status": "OK"}
        assert end(door, trace, **body, tags=[{"key": f"a{n}", "value": "v"} for n in range(200)])
        more = {**body, "tags": pairs(b="v")}
        assert door.refused("PATCH", f"traces/{trace}", json=more) == WRONG
        large = [{"key": f"m{n}", "value": "v" * 8000} for n in range(132)]
        end(door, trace, **body, request_metadata=large[:66])
        before = door.get(f"traces/{trace}/info")
        assert door.refused("PATCH", f"traces/{trace}", json={**body, "request_metadata": large[66:]}) == WRONG
        assert door.get(f"traces/{trace}/info") == before

    def test_a_search_has_limits(self, door: Door) -> None:
        for query in ({}, {"experiment_ids": ["0"], "max_results": 501}, {"experiment_ids": ["0"], "page_token": "x"}):
            assert door.refused("GET", "traces", params=query) == WRONG
        assert door.refused("GET", "traces", params={"experiment_ids": ["123456789"]}) == GONE

    def test_large_tags_are_spread_over_pages(self, world: World, door: Door, experiment: str) -> None:
        traces = [begin(door, experiment, at) for at in range(17)]
        with world.database.writing() as session:
            for row in session.query(TraceRow).filter(TraceRow.id.in_(traces)):
                session.add(TraceTextRow(trace=row.number, kind="tag", key="large", value="v" * ((1 << 20) - 5)))
        page = door.get("traces", experiment_ids=[experiment])
        assert len(page["traces"]) == 16
        assert found(door, experiment, page_token=page["next_page_token"]) == [traces[0]]

    def test_a_deleted_experiment_takes_none(self, door: Door, experiment: str) -> None:
        trace = begin(door, experiment)
        door.post("experiments/delete", experiment_id=experiment)
        assert door.refused("POST", "traces", json={"experiment_id": experiment, "timestamp_ms": 1}) == WRONG
        assert found(door, experiment) == [trace]


class TestClientsFrom3:
    """They send a whole trace once, under an id that they choose."""

    def test_a_whole_trace_is_logged_and_read_in_both_ways(self, door: Door, experiment: str) -> None:
        trace = "tr-" + "a" * 32
        sent = whole(trace, experiment, request_preview="in", trace_metadata={"a": "b"}, tags={"c": "d"})
        for _ in range(2):  # the second time because the answer was lost
            info = logged(door, sent)
        location = f"mlflow-artifacts:/traces/{trace}"
        assert info == {
            "trace_id": trace,
            "trace_location": {"type": "MLFLOW_EXPERIMENT", "mlflow_experiment": {"experiment_id": experiment}},
            "request_time": "2026-01-02T03:04:05.678Z",
            "execution_duration": "1.250s",
            "state": "OK",
            "request_preview": "in",
            "trace_metadata": {"a": "b", "mlflow.traceInputs": "in"},
            "tags": {"c": "d", "mlflow.artifactLocation": location},
        }
        assert newer(door, "GET", f"/{trace}").json()["trace"]["trace_info"] == info
        old = door.get(f"traces/{trace}/info")["trace_info"]
        assert (old["timestamp_ms"], old["execution_time_ms"], old["status"]) == (1767323045678, 1250, "OK")
        assert found(door, experiment) == [trace]

    def test_other_paths_are_said_to_be_missing(self, door: Door) -> None:
        """The client then uses the older ones."""
        assert newer(door, "POST", "/search", json={}).json()["error_code"] == "ENDPOINT_NOT_FOUND"
        answer = newer(door, "GET", "/get", params={"trace_id": "tr-1"}).json()
        assert answer == {"error_code": "RESOURCE_DOES_NOT_EXIST", "message": "Trace with ID 'get' not found"}

    @pytest.mark.parametrize(
        "more",
        [{"trace_id": "x"}, {"trace_id": "../tr-" + "a" * 32}, {"request_time": "soon"}, {"execution_duration": "1h"},
         {"execution_duration": "-1s"}, {"state": "DONE"}, {"tags": {"a": 1}}, {"tags": {"k" * 251: "a"}},
         {"tags": {str(n): "" for n in range(201)}}, {"trace_location": {}}],
    )  # fmt: skip
    def test_a_wrong_trace_is_refused(self, door: Door, more: dict[str, Any]) -> None:
        sent = whole("tr-" + "b" * 32, "0", **more)
        answer = newer(door, "POST", "", json={"trace": {"trace_info": sent}})
        assert (answer.status_code, answer.json()["error_code"]) == WRONG
        assert newer(door, "GET", "/tr-" + "b" * 32).status_code == 404


def whole(trace: str, experiment: str, **more: Any) -> dict[str, Any]:
    return {
        "trace_id": trace,
        "trace_location": {"type": "MLFLOW_EXPERIMENT", "mlflow_experiment": {"experiment_id": experiment}},
        "request_time": "2026-01-02T03:04:05.678Z",
        "execution_duration": "1.250s",
        "state": "OK",
        **more,
    }


def newer(door: Door, method: str, path: str, **options: Any) -> httpx.Response:
    address = str(door.http.base_url).rstrip("/").removesuffix("/api/2.0")
    return door.http.request(method, f"{address}/api/3.0/mlflow/traces{path}", **options)


def logged(door: Door, info: dict[str, Any]) -> Any:
    return told(newer(door, "POST", "", json={"trace": {"trace_info": info}}))["trace"]["trace_info"]


@pytest.fixture(scope="module")
def people(world: World, url: str) -> Iterator[dict[str, Door]]:
    named = {
        "member": world.add_user("tom", "traced"),
        "other": world.add_user("tess", "traced"),
        "viewer": world.add_user("tim", "traced", Role.VIEWER),
        "owner": world.add_user("tara", "traced", Role.OWNER),
    }
    doors = {name: Door(url, world.api_key(who), "traced") for name, who in named.items()}
    doors["stranger"] = Door(url, world.api_key(world.add_user("ted", "elsewhere")), "elsewhere")
    yield doors
    for door in doors.values():
        door.http.close()


def attempts(door: Door, trace: str) -> list[int]:
    """Statuses of every kind of change."""
    path = f"/mlflow/traces/{trace}"
    answers = [
        door.http.patch(f"{path}/tags", json={"key": "a", "value": "b"}),
        door.http.request("DELETE", f"{path}/tags", json={"key": "a"}),
        door.http.patch(path, json={"timestamp_ms": 1, "status": "OK"}),
    ]
    return [*(one.status_code for one in answers), send_spans(door, trace)]


class TestRights:
    def test_a_stranger_finds_nothing(self, people: dict[str, Door]) -> None:
        trace = begin(people["member"])
        assert send_spans(people["member"], trace) == 200
        stranger = people["stranger"]
        assert stranger.refused("GET", f"traces/{trace}/info") == GONE
        assert attempts(stranger, trace) == [404] * 4
        assert spans_of(stranger, trace).status_code == 404
        assert newer(stranger, "GET", f"/{trace}").status_code == 404
        assert found(stranger, "0") == []
        delete = {"experiment_id": "0", "request_ids": [trace]}
        assert stranger.post("traces/delete-traces", **delete)["traces_deleted"] == 0
        assert spans_of(people["member"], trace).status_code == 200

    def test_an_id_of_another_project_is_free(self, people: dict[str, Door]) -> None:
        """Who knows an id learns nothing from it, and takes nothing with it."""
        trace = "tr-" + "c" * 32
        logged(people["member"], whole(trace, "0", tags={"whose": "member"}))
        logged(people["stranger"], whole(trace, "0", tags={"whose": "stranger"}))
        infos = [newer(people[one], "GET", f"/{trace}").json()["trace"]["trace_info"] for one in ("member", "stranger")]
        assert [info["tags"]["whose"] for info in infos] == ["member", "stranger"]

    def test_a_trace_of_another_user_is_read_and_not_changed(self, people: dict[str, Door]) -> None:
        trace = begin(people["member"])
        assert attempts(people["member"], trace) == [200] * 4
        assert attempts(people["owner"], trace) == [200] * 4
        for name in ("other", "viewer"):
            assert people[name].get(f"traces/{trace}/info")["trace_info"]["request_id"] == trace
            assert spans_of(people[name], trace).status_code == 200
            assert attempts(people[name], trace) == [403] * 4
            answer = newer(people[name], "POST", "", json={"trace": {"trace_info": whole(trace, "0")}})
            assert answer.status_code == 403

    def test_a_viewer_logs_none(self, people: dict[str, Door]) -> None:
        viewer, denied = people["viewer"], (403, "PERMISSION_DENIED")
        assert viewer.refused("POST", "traces", json={"experiment_id": "0", "timestamp_ms": 1}) == denied
        sent = {"trace": {"trace_info": whole("tr-" + "d" * 32, "0")}}
        assert newer(viewer, "POST", "", json=sent).status_code == 403

    def test_traces_of_others_are_not_deleted_with_ones_own(self, people: dict[str, Door]) -> None:
        experiment = people["owner"].post("experiments/create", name="ours")["experiment_id"]
        traces = [begin(people["member"], experiment, 1), begin(people["other"], experiment, 2)]
        delete = {"experiment_id": experiment, "max_timestamp_millis": 9}
        assert people["other"].refused("POST", "traces/delete-traces", json=delete)[0] == 403
        assert found(people["owner"], experiment) == traces[::-1]
        assert people["owner"].post("traces/delete-traces", **delete)["traces_deleted"] == 2

    def test_a_job_sees_and_changes_its_own(self, world: World, url: str, people: dict[str, Door]) -> None:
        theirs = begin(people["member"])
        found_by: dict[str, list[int]] = {}
        for access in ("own", "read", "owner"):
            job = world.started(who=world.identity("tom"), project="traced", access=access)
            inside = Door(url, world.job_token(job), "traced")
            own = begin(inside)
            assert attempts(inside, own) == [200] * 4
            is_listed = theirs in found(inside, "0")
            found_by[access] = [int(is_listed), *attempts(inside, theirs)]
            assert own in found(inside, "0")
            deleted = {"experiment_id": "0", "max_timestamp_millis": 5000}
            if access == "own":  # it neither deletes the traces of others nor learns of them
                assert inside.post("traces/delete-traces", **deleted)["traces_deleted"] == 1
                assert found(people["member"], "0", filter=f"request_id = '{theirs}'") == [theirs]
            inside.http.close()
        assert found_by == {"own": [0, *[404] * 4], "read": [1, *[403] * 4], "owner": [1, *[200] * 4]}


class TestCharactersThatDatabasesRefuse:
    """NUL, and halves of characters, which JSON can name."""

    @pytest.mark.parametrize("odd", ["\\u0000", "\\ud800"], ids=["nul", "half"])
    def test_they_are_stored_clean_or_refused(self, door: Door, experiment: str, odd: str) -> None:
        trace = begin(door, experiment)
        odd_pairs = pairs(**{"k@": "v@"})
        texts = {"timestamp_ms": 1, "status": "OK", "tags": odd_pairs, "request_metadata": odd_pairs}
        requests = [
            ("PATCH", f"traces/{trace}", texts),
            ("POST", "traces", {**texts, "experiment_id": experiment}),
            ("POST", "traces", {**texts, "experiment_id": "@"}),
            ("PATCH", f"traces/{trace}/tags", {"key": "k@", "value": "v@"}),
            ("DELETE", f"traces/{trace}/tags", {"key": "k@"}),
            ("POST", "traces/delete-traces", {"experiment_id": experiment, "request_ids": ["tr-@"]}),
            ("POST", "runs/create-promptlab-run", {**texts, "experiment_id": experiment, "prompt_template": "@"}),
        ]
        for method, path, body in requests:
            content = json.dumps(body).replace("@", odd)
            answer = door.http.request(method, f"/mlflow/{path}", content=content, headers=JSON)
            assert answer.status_code in (200, 400, 404), (path, answer.text)
        for path in (
            "traces/tr-%00/info",
            "get-trace-artifact?request_id=%00",
            "traces/%ED%A0%80/info",
            "logged-models/m-%00",
        ):
            assert door.http.get(f"/mlflow/{path}").status_code in (400, 404), path
        query = {"experiment_ids": [experiment], "filter": "tags.a = '\0'"}
        assert door.http.get("/mlflow/traces", params=query).status_code in (200, 400)
        search = 'mlflowSearchRuns(input: {experimentIds: ["0"], filter: "tags.a = \'@\'"}) { nextPageToken }'
        sent = json.dumps({"query": f"mutation {{ {search} }}"})
        address = str(door.http.base_url).rstrip("/").removesuffix("/api/2.0")
        answer = door.http.post(f"{address}/graphql", content=sent.replace("@", odd), headers=JSON)
        assert answer.status_code in (200, 400), answer.text
        assert "internal error" not in answer.text
        assert trace in found(door, experiment)
