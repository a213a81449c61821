"""What the API does, over real HTTP."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from sqlalchemy import select
from tests.support.events import events
from tests.support.world import Api, World, make_node, make_world

from danlu.server.logs.pattern import compile_pattern
from danlu.spec.states import JobState
from danlu.store.queries import jobs
from danlu.store.sql.tables import JobRow
from danlu.testing.waiting import wait_until


def submit(api: Api, **spec: Any) -> dict[str, Any]:
    made: dict[str, Any] = api.json("POST", "/jobs", json={"spec": {"name": "job", "command": "train", **spec}})
    return made


class TestSubmit:
    def test_the_same_request_twice_is_one_job(self, api: Api) -> None:
        body = {"spec": {"name": "a", "command": "x"}, "request_id": "0123456789"}
        first, second = (api.json("POST", "/jobs", json=body) for _ in range(2))
        assert first["id"] == second["id"]
        assert len(api.json("GET", "/jobs")["items"]) == 1

    def test_ids_of_one_moment_are_in_order_and_never_the_same(self, world: World, api: Api) -> None:
        made = [submit(api)["id"] for _ in range(3)]  # the clock of this world stands still
        api("POST", f"/jobs/{made[-1]}/stop")
        world.tick()
        assert api("DELETE", f"/jobs/{made[-1]}").status_code == 204
        made.append(submit(api)["id"])
        assert [int(job_id.removeprefix("train-")) - int(made[0].removeprefix("train-")) for job_id in made] == [
            0,
            1,
            2,
            3,
        ]

    def test_defaults_are_filled_in_and_secrets_hidden(self, world: World, api: Api) -> None:
        job = submit(api, secrets={"HF_TOKEN": "hunter2"}, resources={"device": "gpu"})
        assert job["spec"]["resources"]["device"] == "gpu:1"
        assert job["spec"]["secrets"] == {"HF_TOKEN": "******"}
        assert job["output"] == f"store://main/jobs/{job['id']}/"
        for path in (f"/jobs/{job['id']}", "/jobs", f"/jobs/{job['id']}/events"):
            assert "hunter2" not in api("GET", path).text
        with world.database.reading() as session:
            database = str(session.execute(select(JobRow.__table__)).all()).encode()
        assert b"hunter2" not in database

    def test_a_plan_shows_what_rank_k_sees_and_no_secret(self, api: Api) -> None:
        spec = {"name": "a", "command": "x", "nodes": 2, "launch": "ddp", "secrets": {"K": "hunter2"}}
        plan = api.json("POST", "/jobs/plan", json={"spec": spec})
        assert [task["env"]["RANK"] for task in plan["tasks"]] == ["0", "1"]
        assert plan["notes"] == ["set in the job, but not shown: K"]
        assert "hunter2" not in json.dumps(plan)
        assert api.json("GET", "/jobs")["items"] == []

    def test_a_plan_says_what_jobs_cannot_import(self, tmp_path: Any) -> None:
        told = "Jobs cannot import t9k: /srv/t9k is closed to other users."
        node = make_node(image_tool="docker", missing=(told,))
        with make_world(tmp_path, node) as world, world.serving() as url, Api(url, world.api_key()) as api:
            plans = [
                api.json("POST", "/jobs/plan", json={"spec": {"name": "a", "command": "x", **more}})
                for more in ({}, {"image": "example/torch:2"})
            ]
        image = "only what is installed in example/torch:2 can be imported; danlu of the nodes is not visible there"
        assert [plan["notes"] for plan in plans] == [[told], [told, image]]

    def test_html_in_names_stays_text(self, api: Api) -> None:
        name = "<img src=x onerror=alert(1)>"
        submit(api, name=name, tags={"<b>": "<i>"})
        response = api("GET", "/jobs")
        assert response.headers["Content-Type"] == "application/json"
        assert response.json()["items"][0]["name"] == name


class TestLists:
    def test_a_list_shows_of_a_job_what_the_job_shows(self, world: World, api: Api) -> None:
        roles = {"ps": {"command": "x", "resources": {"cpus": 2}}, "worker": {"command": "x", "count": 3}}
        made = [
            submit(api, tags={"team": "vision", "quote": 'it\'s "so"'}, nodes=2, launch="ddp"),
            submit(api, command=None, launch="ps_worker", roles=roles),
            submit(api),
        ]
        with world.database.writing() as session:  # as a version without roles left it
            row = jobs.get_job(session, made[2]["id"])
            assert row is not None
            row.spec = {key: value for key, value in row.spec.items() if key != "roles"}
        shown = {item["id"]: item for item in api.json("GET", "/jobs")["items"]}
        assert len(shown) == 3
        for job in made:
            whole = api.json("GET", f"/jobs/{job['id']}")
            item = shown[job["id"]]
            assert item == {name: whole[name] for name in item}

    def test_pages_have_every_job_once_newest_first(self, world: World, api: Api) -> None:
        ids = [world.submit() for _ in range(7)]
        found: list[str] = []
        cursor: str | None = None
        while True:
            page = api.json("GET", "/jobs", params={"limit": 3, **({"cursor": cursor} if cursor else {})})
            found += [item["id"] for item in page["items"]]
            cursor = page["next"]
            if cursor is None:
                break
        assert found == ids[::-1]

    def test_filters(self, world: World, api: Api) -> None:
        a = world.submit(name="a", tags={"team": "vision", 'odd"key': "1"})
        b = world.submit(name="b", resources={"device": "npu:64"})
        world.tick()
        assert [item["id"] for item in api.json("GET", "/jobs?name=a")["items"]] == [a]
        assert [item["id"] for item in api.json("GET", "/jobs?tag=team=vision")["items"]] == [a]
        assert api.json("GET", "/jobs?tag=team=audio")["items"] == []
        assert [item["id"] for item in api.json("GET", "/jobs?state=queued")["items"]] == [b]
        assert len(api.json("GET", "/jobs?state=queued&state=starting")["items"]) == 2

    def test_a_name_means_the_newest_job_of_that_name(self, world: World, api: Api) -> None:
        world.submit(name="twin")
        newest = world.submit(name="twin")
        assert api.json("GET", "/jobs/twin")["id"] == newest

    def test_events_are_paged(self, world: World, api: Api) -> None:
        job_id = world.started()
        world.engine.finish(job_id)
        world.tick()
        first = api.json("GET", f"/jobs/{job_id}/events?limit=2")
        rest = api.json("GET", f"/jobs/{job_id}/events?cursor={first['next']}")
        kinds = [event["kind"] for event in first["items"] + rest["items"]]
        assert kinds == ["submitted", "starting", "running", "succeeded"]


class TestBulk:
    def test_stop_many_says_what_became_of_each(self, world: World, api: Api) -> None:
        ids = [world.submit(resources={"device": "npu:64"}) for _ in range(3)]
        done = api.json("POST", "/jobs/stop", json={"jobs": [*ids, ids[0], "train-404"]})
        assert sorted(done["done"]) == sorted(ids)
        assert done["refused"] == {"train-404": "no job 'train-404'; `danlu ps -a` lists them"}
        world.tick()
        assert {world.job(job_id).state for job_id in ids} == {JobState.STOPPED}

    def test_delete_many_takes_those_that_are_over(self, world: World, api: Api) -> None:
        over = world.started()
        world.engine.task(over).log += b"bytes\n"
        world.engine.finish(over)
        world.tick()
        waiting = world.submit(resources={"device": "npu:64"})
        done = api.json("POST", "/jobs/delete", json={"jobs": [over, waiting]})
        assert done["done"] == [over]
        assert list(done["refused"]) == [waiting]
        assert api("GET", f"/jobs/{over}").status_code == 404
        assert not (world.settings.server_dir / "logs" / over).exists()

    def test_delete_one(self, world: World, api: Api) -> None:
        job_id = world.started()
        assert api("DELETE", f"/jobs/{job_id}").status_code == 409
        world.engine.finish(job_id)
        world.tick()
        assert api("DELETE", f"/jobs/{job_id}").status_code == 204
        assert api("DELETE", f"/jobs/{job_id}").status_code == 404


class TestObjects:
    def test_bytes_come_back_with_their_digest(self, api: Api) -> None:
        data = bytes(range(256)) * 10_000
        put = api.json("PUT", "/buckets/main/objects/a/b.bin", content=data)
        digest = hashlib.sha256(data).hexdigest()
        assert (put["size"], put["sha256"]) == (len(data), digest)
        got = api("GET", "/buckets/main/objects/a/b.bin")
        assert got.content == data
        assert got.headers["X-Danlu-SHA256"] == digest
        head = api("HEAD", "/buckets/main/objects/a/b.bin")
        assert head.headers["Content-Length"] == str(len(data))

    RANGES = (
        ("bytes=0-3", 206, b"0123"),
        ("bytes=7-", 206, b"789"),
        ("bytes=-2", 206, b"89"),
        ("bytes=-99", 206, b"0123456789"),
        ("bytes=5-99", 206, b"56789"),
        ("bytes=9-9", 206, b"9"),
        ("bytes=0-1,3-4", 200, b"0123456789"),
        ("lines=1-2", 200, b"0123456789"),
        ("bytes=-", 200, b"0123456789"),
        ("bytes=10-", 416, b""),
        ("bytes=5-4", 416, b""),
        ("bytes=-0", 416, b""),
        (f"bytes={'9' * 30}-", 416, b""),
    )

    def test_ranges(self, api: Api) -> None:
        api("PUT", "/buckets/main/objects/digits", content=b"0123456789")
        for header, status, expected in self.RANGES:
            response = api("GET", "/buckets/main/objects/digits", headers={"Range": header})
            assert response.status_code == status, header
            if status == 416:
                assert response.json()["error"] == "RangeNotSatisfiable"
                continue
            assert response.content == expected
            assert response.headers["Content-Length"] == str(len(expected))
            if status == 206:
                begin = b"0123456789".index(expected)
                assert response.headers["Content-Range"] == f"bytes {begin}-{begin + len(expected) - 1}/10"

    def test_user_content_cannot_run_in_the_consoles_origin(self, api: Api) -> None:
        api("PUT", "/buckets/main/objects/page.html", content=b"<script>alert(1)</script>")
        headers = api("GET", "/buckets/main/objects/page.html").headers
        assert headers["Content-Security-Policy"] == "sandbox"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Content-Type"] == "application/octet-stream"

    def test_listing_pages(self, api: Api) -> None:
        for key in ("a/1", "a/2", "b", "c/1"):
            api("PUT", f"/buckets/main/objects/{key}", content=b"")
        top = api.json("GET", "/buckets/main/objects?delimiter=/&limit=2")
        assert ([item["key"] for item in top["objects"]], top["folders"], top["next"]) == (["b"], ["a/"], "b")
        rest = api.json("GET", "/buckets/main/objects?delimiter=/&cursor=b")
        assert (rest["objects"], rest["folders"], rest["next"]) == ([], ["c/"], None)

    def test_an_upload_that_breaks_off_leaves_nothing(self, world: World, api: Api) -> None:
        import socket

        host, port = str(api.http.base_url.host), int(api.http.base_url.port or 0)
        key = api.http.headers["Authorization"]
        with socket.create_connection((host, port)) as connection:
            head = f"PUT /api/v1/buckets/main/objects/half HTTP/1.1\r\nHost: {host}\r\nAuthorization: {key}\r\n"
            connection.sendall(f"{head}Content-Length: 1000\r\n\r\n".encode() + b"x" * 500)
            wait_until(lambda: list(world.settings.objects_dir.rglob("*.partial*")))
        wait_until(lambda: not list(world.settings.objects_dir.rglob("*.partial*")))
        assert api("GET", "/buckets/main/objects/half").status_code == 404
        assert list(world.settings.objects_dir.rglob("*.partial*")) == []

    def test_trees_by_content(self, api: Api) -> None:
        data = {name: name.encode() for name in ("a.py", "b/c.py")}
        files = [
            {"path": path, "sha256": hashlib.sha256(text).hexdigest(), "size": len(text), "is_executable": False}
            for path, text in data.items()
        ]
        first = api.json("POST", "/trees", json={"files": files})
        assert len(first["missing"]) == 2
        for text in data.values():
            assert api("PUT", f"/blobs/{hashlib.sha256(text).hexdigest()}", content=text).status_code == 204
        done = api.json("POST", "/trees", json={"files": files})
        assert done == {"digest": first["digest"], "missing": []}
        assert api.json("GET", f"/trees/{done['digest']}")["files"] == files
        lying = [{**files[0], "size": 99}]
        assert api("POST", "/trees", json={"files": lying}).status_code == 422


class TestLogs:
    def lines(self, api: Api, path: str) -> list[tuple[str, Any]]:
        return list(events(api("GET", path).text.splitlines()))

    def test_both_ranks_then_the_end(self, world: World, api: Api) -> None:
        job_id = world.started(nodes=2)
        world.engine.task(job_id, 0).log += "héllo\n".encode()
        world.engine.task(job_id, 1).log += b"no line end"
        world.engine.finish(job_id)
        world.tick()
        told = self.lines(api, f"/jobs/{job_id}/logs?follow=true")
        assert [(name, data.get("rank"), data.get("text")) for name, data in told] == [
            ("log", 0, "héllo\n"),
            ("log", 1, "no line end"),
            ("end", None, None),
        ]
        assert told[-1][1] == {"attempt": 1, "state": "succeeded"}

    def test_tail_grep_since_and_from(self, world: World, api: Api) -> None:
        job_id = world.started()
        world.engine.task(job_id).log += b"".join(b"step %d\n" % number for number in range(100))
        world.engine.finish(job_id)
        world.tick()

        def text(query: str) -> str:
            found = self.lines(api, f"/jobs/{job_id}/logs?{query}")
            return "".join(data["text"] for name, data in found if name == "log")

        assert text("tail=2") == "step 98\nstep 99\n"
        assert text("grep=9$&tail=20") == "step 89\nstep 99\n"
        assert text("from=0:782") == "step 99\n"
        assert text("rank=0&tail=0") == ""

    @pytest.mark.parametrize("query", ["grep=needle", "grep=needle&follow=true"])
    def test_a_search_goes_on_where_nothing_matches(self, world: World, api: Api, query: str) -> None:
        job_id = world.started()
        world.engine.task(job_id).log += b"nothing here\n" * 800_000 + b"the needle\n"  # 40 pieces
        world.engine.finish(job_id)
        world.tick(3)
        found = self.lines(api, f"/jobs/{job_id}/logs?{query}")
        assert [data["text"] for name, data in found if name == "log"] == ["the needle\n"]

    def test_raw_bytes_by_offset(self, world: World, api: Api) -> None:
        job_id = world.started()
        world.engine.task(job_id).log += bytes(range(256))
        world.tick()
        part = api("GET", f"/jobs/{job_id}/logs/0?offset=10&limit=5")
        assert part.content == bytes(range(10, 15))
        assert (part.headers["X-Danlu-Next-Offset"], part.headers["X-Danlu-Complete"]) == ("15", "false")
        world.engine.finish(job_id)
        world.tick()
        rest = api("GET", f"/jobs/{job_id}/logs/0?offset=15")
        assert (rest.headers["X-Danlu-Next-Offset"], rest.headers["X-Danlu-Complete"]) == ("256", "true")

    def test_watch_ends_with_the_job(self, world: World, api: Api) -> None:
        job_id = world.started()
        world.engine.finish(job_id)
        world.tick()
        ((name, job),) = self.lines(api, f"/jobs/{job_id}/watch")
        assert (name, job["state"]) == ("job", "succeeded")

    @pytest.mark.parametrize("path", ["watch", "logs?follow=true"])
    def test_a_stream_ends_when_its_job_is_deleted(self, world: World, api: Api, path: str) -> None:
        job_id = world.started()
        world.engine.task(job_id).log += b"first\n"
        world.tick()
        with api.http.stream("GET", f"/jobs/{job_id}/{path}") as response:
            heard = events(response.iter_lines())
            assert next(heard)[0] in ("job", "log")
            with world.database.writing() as session:
                jobs.delete_jobs(session, [job_id])
            assert [name for name, _ in heard if name == "end"] == []


class TestFailures:
    def test_a_foreign_host_name_is_refused_in_our_shape(self, api: Api) -> None:
        response = api("GET", "/health", headers={"Host": "evil.example"})
        assert response.status_code == 400
        assert response.json() == {
            "error": "InvalidInput",
            "message": "this server is not called 'evil.example'; use the address that `danlu up` printed",
            "fields": {},
        }

    @pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8400", "[::1]:8400", "train-1.localhost"])
    def test_names_of_loopback_are_answered(self, api: Api, host: str) -> None:
        assert api("GET", "/health", headers={"Host": host}).status_code == 200

    @pytest.mark.parametrize(
        ("method", "path", "status", "error"),
        [
            ("GET", "/nope", 404, "NotFound"),
            ("GET", "/jobs/train-1", 404, "NotFound"),
            ("PATCH", "/jobs", 405, "NotFound"),
            ("GET", "/jobs?limit=x", 422, "InvalidInput"),
            ("POST", "/jobs", 422, "InvalidInput"),
        ],
    )
    def test_every_failure_has_one_shape(self, api: Api, method: str, path: str, status: int, error: str) -> None:
        response = api(method, path)
        body = response.json()
        assert (response.status_code, body["error"]) == (status, error)
        assert set(body) == {"error", "message", "message_said", "fields", "said"}
        assert all(isinstance(value, str) for value in body["fields"].values())

    def test_a_missing_page_of_an_unknown_version_as_well(self, api: Api) -> None:
        response = api.http.get(str(api.http.base_url).replace("/api/v1/", "/api/v9/jobs"))
        assert (response.status_code, response.json()["error"]) == (404, "NotFound")

    def test_nodes_and_their_devices(self, world: World, api: Api) -> None:
        job_id = world.started(resources={"device": "npu:2", "cpus": 3})
        (node,) = api.json("GET", "/nodes")["items"]
        assert [device["job"] for device in node["devices"]] == [job_id, job_id, *[None] * 6]
        assert (node["cpus_reserved"], node["num_tasks"]) == (3.0, 1)


@pytest.mark.parametrize("pattern", ["^b", "b$", "^$", r"\Ab", "a|c$", "(?i)B", "[^a]", r"\bbc\b", "(?-s)c", "x"])
def test_a_search_of_many_lines_is_a_search_of_each(pattern: str) -> None:
    compiled = compile_pattern(pattern)
    assert compiled is not None
    lines = ["abc", "b", "", "bc", "a", "cab bc"]
    each = [line for line in lines if compiled.in_line.search(line)]
    assert compiled.lines_of("\n".join(lines) + "\n") == "".join(f"{line}\n" for line in each)
