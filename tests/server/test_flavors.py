"""Flavors and frameworks over HTTP: who changes them, what jobs make of them, and what a job costs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from tests.support.shared import Shared, share_world
from tests.support.world import Api, World

from danlu.spec.job import stored_job
from danlu.store.queries import jobs

GPU = {"name": "npu-2", "device": "npu:910b:2", "cpus": 4, "memory": "8GiB", "price_per_hour": "18.4008"}
TORCH = {
    "name": "torch-2.13",
    "title": "PyTorch 2.13",
    "setup": "export FROM=framework",
    "env": {"OMP_NUM_THREADS": "4", "LEVEL": "framework"},
    "launch": ["plain", "ddp"],
}


WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({"price_per_hour": "-1"}, "price_per_hour", "expected a price from 0 to 9999999"),
    ({"price_per_hour": "0.1234567"}, "price_per_hour", "at most 6 decimal places"),
    ({"price_per_hour": True}, "price_per_hour", "such as 18.40, got true"),
    ({"device": "gpu::"}, "device", "TYPE[:MODEL][:COUNT]"),
    ({"cpus": 0}, "cpus", "more than 0"),
    ({"memory": "much"}, "memory", "expected a size such as 512MB, 4GB or 16GiB, got 'much'"),
    ({"name": "a b"}, "name", "expected a flavor name"),
    ({"colour": "red"}, "colour", "unknown field"),
    ({"description": "a\0b"}, "description", "NUL"),
]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    with share_world(tmp_path_factory.mktemp("shared")) as made:
        yield made


@pytest.fixture
def world(shared: Shared) -> World:
    return shared.fresh()


@pytest.fixture
def api(world: World, shared: Shared) -> Iterator[Api]:
    with shared.api() as made:
        yield made


def stored(world: World, job_id: str) -> Any:
    with world.database.reading() as session:
        row = jobs.get_job(session, job_id)
        assert row is not None
        return stored_job(row.spec)


def refused(api: Api, **spec: Any) -> dict[str, str]:
    answer = api("POST", "/jobs", json={"spec": {"name": "a", "command": "x", **spec}})
    assert answer.status_code == 422, answer.text
    assert api("POST", "/jobs/plan", json={"spec": {"name": "a", "command": "x", **spec}}).status_code == 422
    return dict(answer.json()["fields"])


class TestFlavors:
    def test_added_shown_changed_and_removed(self, world: World, api: Api) -> None:
        made = api.json("POST", "/flavors", json=GPU)
        assert made == {
            "name": "npu-2",
            "device": "npu:910b:2",
            "cpus": 4.0,
            "memory": 8 << 30,
            "price_per_hour": "18.4008",
            "currency": "CNY",
            "description": "",
            "is_enabled": True,
            "num_free": 4,
            "num_total": 4,
        }
        world.started(resources={"device": "npu:3"})
        assert api.json("GET", "/flavors/npu-2") == {**made, "num_free": 2}
        changed = api.json("PATCH", "/flavors/npu-2", json={"price_per_hour": 20, "memory": 0, "description": "fast"})
        expected = {**made, "price_per_hour": "20.00", "memory": None, "description": "fast", "num_free": 2}
        assert changed == expected
        assert api.json("GET", "/flavors")["items"] == [expected]
        api.json("PUT", "/nodes/here/drain", json={"reason": "a fan"})
        assert api.json("GET", "/flavors")["items"] == [{**expected, "num_free": 0}]
        assert api("DELETE", "/flavors/npu-2").status_code == 204
        assert api.json("GET", "/flavors")["items"] == []
        assert api("GET", "/flavors/npu-2").json()["message"] == "no flavor 'npu-2'; `danlu flavors` lists them"

    def test_a_list_comes_in_pages(self, world: World, api: Api) -> None:
        for name in ("c", "a", "b"):
            api.json("POST", "/flavors", json={"name": name})
        first = api.json("GET", "/flavors", params={"limit": 2})
        assert [item["name"] for item in first["items"]] == ["a", "b"]
        rest = api.json("GET", "/flavors", params={"limit": 2, "cursor": first["next"]})
        assert ([item["name"] for item in rest["items"]], rest["next"]) == (["c"], None)
        assert api("GET", "/flavors", params={"cursor": "\0"}).json()["fields"].keys() == {"cursor"}

    def test_changes_are_noted(self, world: World, api: Api) -> None:
        api.json("POST", "/flavors", json=GPU)
        api.json("PATCH", "/flavors/npu-2", json={"price_per_hour": "1"})
        api.json("PATCH", "/flavors/npu-2", json={"price_per_hour": "1.00"})
        api("DELETE", "/flavors/npu-2")
        found = api.json("GET", "/audit", params={"object": "flavor/npu-2"})["items"]
        assert [item["action"] for item in found] == ["flavor.delete", "flavor.change", "flavor.make"]
        assert found[1]["details"] == {"price_per_hour": "1.00"}

    def test_what_cannot_be_one_is_refused_by_field(self, world: World, api: Api) -> None:
        for body, field, told in WRONG:
            answer = api("POST", "/flavors", json={"name": "x", **body})
            assert answer.status_code == 422, body
            assert list(answer.json()["fields"]) == [field]
            assert told in answer.json()["fields"][field]
        assert api.json("GET", "/flavors")["items"] == []

    def test_a_name_is_given_once(self, world: World, api: Api) -> None:
        api.json("POST", "/flavors", json=GPU)
        answer = api("POST", "/flavors", json=GPU)
        assert (answer.status_code, list(answer.json()["fields"])) == (409, ["name"])

    def test_suggestions_fit_the_nodes_and_leave_out_what_is_there(self, world: World, api: Api) -> None:
        api.json("POST", "/flavors", json={"name": "npu-910b-4"})
        found = api.json("GET", "/flavor-suggestions")["items"]
        assert [(item["name"], item["device"], item["num_total"]) for item in found] == [
            ("npu-910b-1", "npu:910b:1", 8),
            ("npu-910b-8", "npu:910b:8", 1),
        ]
        assert {item["price_per_hour"] for item in found} == {"0.00"}


class TestFrameworks:
    def test_added_shown_changed_and_removed(self, world: World, api: Api) -> None:
        made = api.json("POST", "/frameworks", json=TORCH)
        assert made == {**TORCH, "image": None, "description": "", "purpose": "training", "is_enabled": True}
        changed = api.json("PATCH", "/frameworks/torch-2.13", json={"image": "team/torch:2.13", "setup": ""})
        assert changed == {**made, "image": "team/torch:2.13", "setup": None}
        assert api.json("GET", "/frameworks")["items"] == [changed]
        answer = api("PATCH", "/frameworks/torch-2.13", json={"image": "two words"})
        assert (answer.status_code, list(answer.json()["fields"])) == (422, ["image"])
        assert api.json("GET", "/frameworks/torch-2.13") == changed
        assert api("DELETE", "/frameworks/torch-2.13").status_code == 204
        assert api("DELETE", "/frameworks/torch-2.13").status_code == 404

    def test_the_audit_log_says_that_its_script_changed_and_not_what_it_says(self, api: Api) -> None:
        made = {**TORCH, "name": "private", "setup": "export TOKEN=hunter2", "env": {"TOKEN": "hunter3"}}
        api.json("POST", "/frameworks", json=made)
        api.json("PATCH", "/frameworks/private", json={"setup": "export TOKEN=hunter2 " + "x" * 300})
        api.json("PATCH", "/frameworks/private", json={"setup": ""})
        events = api.json("GET", "/audit", params={"object": "framework/private"})["items"]
        assert "hunter" not in json.dumps(events)
        assert [event["details"].get("setup_chars") for event in events] == [0, 321, 20]
        assert events[-1]["details"]["env"] == "TOKEN"

    def test_a_job_gets_what_the_name_stands_for_and_shows_what_was_asked(self, world: World, api: Api) -> None:
        api.json("POST", "/frameworks", json=TORCH)
        job = world.submit(
            framework="torch-2.13", setup="echo mine", env={"LEVEL": "job"}, secrets={"OMP_NUM_THREADS": "x"}
        )
        spec = stored(world, job)
        assert spec.setup == "export FROM=framework\necho mine"
        assert spec.env == {"LEVEL": "job"}  # a secret of the same name wins as well
        shown = api.json("GET", f"/jobs/{job}")
        assert (shown["spec"]["framework"], shown["spec"]["setup"]) == ("torch-2.13", "echo mine")
        assert shown["framework"]["setup"] == "export FROM=framework"
        api.json("PATCH", "/frameworks/torch-2.13", json={"setup": "export FROM=later"})
        assert api.json("GET", f"/jobs/{job}")["framework"]["setup"] == "export FROM=framework"
        again = {key: value for key, value in shown["spec"].items() if key != "secrets"}
        clone = api.json("POST", "/jobs", json={"spec": again})["id"]
        assert stored(world, clone).setup == "export FROM=later\necho mine"
        assert stored(world, clone).env == {"OMP_NUM_THREADS": "4", "LEVEL": "job"}
        assert world.job(clone).price_per_hour is None

    def test_what_does_not_go_with_it_is_refused(self, world: World, api: Api) -> None:
        api.json("POST", "/frameworks", json=TORCH)
        assert refused(api, framework="torch-2.13", image="other:1") == {
            "image": "'other:1' conflicts with framework 'torch-2.13', which uses the node's own Python; "
            "use one of them"
        }
        assert refused(api, framework="torch-2.13", launch="mpi") == {
            "launch": "framework 'torch-2.13' supports plain, ddp, got 'mpi'"
        }
        assert refused(api, framework="troch-2.13") == {
            "framework": "there is no framework 'troch-2.13'; did you mean 'torch-2.13'?"
        }
        login = {"username": "ada", "secret": "PASSWORD"}
        assert list(refused(api, framework="torch-2.13", image_login=login, secrets={"PASSWORD": "x"})) == [
            "image_login"
        ]


class TestJobs:
    def test_a_job_keeps_shape_and_price(self, world: World, api: Api) -> None:
        api.json("POST", "/flavors", json=GPU)
        job = world.submit(flavor="npu-2", nodes=2)
        world.tick()
        api.json("PATCH", "/flavors/npu-2", json={"price_per_hour": "99", "device": "npu:1"})
        api("DELETE", "/flavors/npu-2")
        shown = world.job(job)
        assert (shown.state.value, shown.on) == ("starting", "2x npu:910b:2")
        assert shown.spec["resources"] == {"device": "npu:910b:2", "cpus": 4.0, "memory": 8 << 30}
        assert (shown.spec["flavor"], shown.price_per_hour, shown.currency) == ("npu-2", Decimal("36.8016"), "CNY")

    def test_the_plan_says_the_price_of_all_nodes(self, world: World, api: Api) -> None:
        api.json("POST", "/flavors", json=GPU)
        plan = api.json(
            "POST", "/jobs/plan", json={"spec": {"name": "a", "command": "x", "flavor": "npu-2", "nodes": 3}}
        )
        assert (plan["price_per_hour"], plan["currency"]) == ("55.2024", "CNY")
        assert plan["tasks"][0]["device_ids"] == [0, 1]
        plain = api.json("POST", "/jobs/plan", json={"spec": {"name": "a", "command": "x"}})
        assert (plain["price_per_hour"], plain["currency"]) == (None, None)

    def test_resources_that_contradict_it_are_refused(self, world: World, api: Api) -> None:
        api.json("POST", "/flavors", json=GPU)
        assert refused(api, flavor="npu-2", resources={"device": "npu:910b:4"}) == {
            "resources.device": "npu:910b:4 contradicts flavor 'npu-2', which has npu:910b:2; remove one of them"
        }
        assert list(refused(api, flavor="npu-2", resources={"device": "cpu:1"})) == ["resources.device"]
        assert list(refused(api, flavor="npu-2", resources={"memory": "16GiB"})) == ["resources.memory"]
        same = {"device": "npu:910b:2", "cpus": 4, "memory": "8GiB"}
        assert world.job(world.submit(flavor="npu-2", resources=same)).price_per_hour == Decimal("18.4008")

    def test_a_name_that_cannot_be_used_is_said_with_the_nearest(self, world: World, api: Api) -> None:
        assert refused(api, flavor="npu-2") == {"flavor": "there is no flavor 'npu-2'; this server has no flavors"}
        api.json("POST", "/flavors", json={**GPU, "name": "TI.GN10"})
        assert refused(api, flavor="ti.gn1") == {"flavor": "there is no flavor 'ti.gn1'; did you mean 'TI.GN10'?"}
        api.json("POST", "/flavors", json={"name": "other"})
        before = world.submit(flavor="TI.GN10")
        api.json("PATCH", "/flavors/TI.GN10", json={"is_enabled": False})
        assert refused(api, flavor="TI.GN10") == {"flavor": "flavor 'TI.GN10' is disabled; expected one of other"}
        world.tick()
        assert world.job(before).state.value == "starting"

    def test_roles_have_flavors_of_their_own(self, world: World, api: Api) -> None:
        api.json("POST", "/flavors", json=GPU)
        api.json("POST", "/flavors", json={"name": "small", "cpus": 1, "price_per_hour": "0.5"})
        roles = {
            "ps": {"command": "x", "flavor": "small", "count": 2},
            "worker": {"command": "x", "flavor": "npu-2", "count": 3},
        }
        spec = {"name": "a", "command": None, "launch": "ps_worker", "roles": roles}
        made = api.json("POST", "/jobs", json={"spec": spec})
        assert (made["price_per_hour"], made["on"]) == ("56.2024", "2x cpu:1 ps, 3x npu:910b:2 worker")
        assert list(refused(api, **{**spec, "flavor": "small"})) == ["flavor"]
        wrong = {**roles, "ps": {**roles["ps"], "resources": {"cpus": 2}}}
        assert list(refused(api, **{**spec, "roles": wrong})) == ["roles.ps.resources.cpus"]

    def test_a_spec_of_an_older_version_is_read(self, world: World, api: Api) -> None:
        job = world.submit()
        with world.database.writing() as session:
            row = jobs.get_job(session, job)
            assert row is not None
            row.spec = {key: value for key, value in row.spec.items() if key not in ("flavor", "framework")}
        world.tick()
        shown = api.json("GET", f"/jobs/{job}")
        assert (shown["state"], shown["cost"], shown["price_per_hour"]) == ("starting", None, None)


class TestCost:
    def test_it_grows_while_devices_are_held_and_not_else(self, world: World, api: Api) -> None:
        api.json("POST", "/flavors", json=GPU)
        job = world.submit(flavor="npu-2", nodes=2, retry={"max": 1, "on": ["exit:3"], "backoff": 60})
        world.clock.pass_seconds(1000)
        assert (world.job(job).cost, world.job(job).cost_at) == (Decimal(0), None)
        world.tick()
        world.clock.pass_seconds(100)  # files are being fetched
        assert world.job(job).cost_at == world.clock()
        world.engine.run(job, at=world.clock().timestamp())
        world.tick()
        world.clock.pass_seconds(800)
        assert world.job(job).cost == Decimal("9.2004")  # 900 s at 36.8016
        world.engine.finish(job, code=3)
        world.tick(2)
        shown = world.job(job)
        assert (shown.state.value, shown.cost, shown.cost_at) == ("queued", Decimal("9.2004"), None)
        world.clock.pass_seconds(3600)  # waits for its retry
        world.tick()
        world.engine.run(job, 2, at=world.clock().timestamp())
        world.tick()
        world.clock.pass_seconds(3600)
        assert world.job(job).cost == Decimal("46.002")
        world.engine.finish(job, 2)
        world.tick(2)
        world.clock.pass_seconds(5000)
        row = api.json("GET", "/jobs")["items"][0]
        assert (row["state"], row["cost"], row["cost_at"]) == ("succeeded", "46.002", None)
        assert api.json("GET", f"/jobs/{job}")["cost"] == "46.002"

    def test_who_makes_room_pays_for_what_it_held(self, world: World, api: Api) -> None:
        api.json("POST", "/flavors", json={"name": "all", "device": "npu:8", "price_per_hour": "36"})
        job = world.started(flavor="all", preemptible=True)
        world.clock.pass_seconds(100)
        firm = world.submit(resources={"device": "npu:8"})
        world.tick()
        assert world.job(job).state.value == "stopping"
        world.clock.pass_seconds(20)  # its grace
        world.engine.finish(job, code=143)
        world.tick(2)
        shown = world.job(job)
        assert (shown.state.value, shown.cost_at) == ("queued", None)
        assert shown.cost is not None
        assert abs(shown.cost - Decimal("1.2")) < Decimal("0.001")  # 120 s; the clock moves a little at each submit
        world.clock.pass_seconds(1000)
        assert (world.job(job).cost, world.job(firm).cost) == (shown.cost, None)
