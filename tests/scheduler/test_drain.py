"""Drained nodes: nothing new comes, what runs goes on, and whoever waits for them hears why."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from tests.scheduler.test_fairness import NOW, NPUS, node, queued, running, snapshot, started, why
from tests.support.world import Api, World, make_node

from danlu.launch import Placement
from danlu.scheduler.policy.decide import decide
from danlu.scheduler.policy.reservation import RESERVE_AFTER_SECONDS
from danlu.scheduler.policy.snapshot import Drain, Evict, FreeNode, Start, Wait
from danlu.scheduler.starting import begin
from danlu.store.queries import attempts

LONG = RESERVE_AFTER_SECONDS + 1


def drained(name: str, *, evicts: bool = False) -> FreeNode:
    return replace(node(name), drain=Drain("broken fan", evicts))


class TestPolicy:
    def test_open_nodes_are_used_and_drained_ones_are_not(self) -> None:
        wanted = [queued(number, device="npu:8") for number in (1, 2)]
        actions = decide(snapshot(wanted, [], drained("n0"), node("n1")), NOW)
        assert started(actions) == ["train-001"]
        assert [start.placement.tasks[0].node for start in actions if isinstance(start, Start)] == ["n1"]
        assert why(actions, 2) == "no_capacity"
        (message,) = [action.why.message for action in actions if isinstance(action, Wait)]
        assert message.endswith("which is in use; node n0 is drained: broken fan")

    def test_what_only_a_drained_node_has_is_waited_for(self) -> None:
        small = make_node("n1", npus=2)
        wanted = [queued(1, device="npu:8"), queued(2, device="npu:16")]
        free = FreeNode(small, small.devices, small.cpus, small.memory_bytes, small.max_tasks)
        actions = decide(snapshot(wanted, [], drained("n0"), free), NOW)
        assert [why(actions, number) for number in (1, 2)] == ["drained", "no_such_node"]

    def test_nothing_is_kept_on_a_drained_node(self) -> None:
        """Its job ends first, but the other node is the one that is kept."""
        live = [
            running(100, 1, NPUS, on="n0", ends_at=NOW + timedelta(minutes=1)),
            running(101, 1, NPUS[:4], on="n1", ends_at=NOW + timedelta(hours=1)),
        ]
        wanted = [queued(1, device="npu:8", waited=LONG), queued(2)]
        actions = decide(snapshot(wanted, live, drained("n0"), node("n1")), NOW)
        assert started(actions) == []
        assert why(actions, 1) == "reserved"

    def test_nobody_is_evicted_from_a_drained_node_for_another_job(self) -> None:
        live = [running(100, 1, NPUS, on="n0", is_preemptible=True)]
        actions = decide(snapshot([queued(1, device="npu:8")], live, drained("n0")), NOW)
        assert [action for action in actions if isinstance(action, Evict)] == []
        assert why(actions, 1) == "drained"

    def test_who_spans_a_drained_node_makes_room_on_the_open_one(self) -> None:
        one = running(100, 1, NPUS, on="n0", is_preemptible=True)
        both = replace(one, tasks=(*one.tasks, *running(100, 1, NPUS, on="n1").tasks))
        actions = decide(snapshot([queued(1, device="npu:8")], [both], drained("n0"), node("n1")), NOW)
        assert [(action.job_id, action.for_job) for action in actions if isinstance(action, Evict)] == [
            ("train-100", "train-001")
        ]

    def test_with_evict_the_preemptible_ones_have_to_leave_and_the_others_stay(self) -> None:
        live = [
            running(100, 1, NPUS[:2], on="n0", is_preemptible=True),
            running(101, 1, NPUS[2:4], on="n0"),
            running(102, 1, NPUS[:2], on="n1", is_preemptible=True),
        ]
        actions = decide(snapshot([], live, drained("n0", evicts=True), node("n1")), NOW)
        assert actions == [Evict("train-100", drained="node n0 is drained: broken fan")]


class TestOverHttp:
    def test_what_runs_goes_on_and_what_is_new_waits_until_the_node_is_open(self, world: World, api: Api) -> None:
        first = world.started(resources={"device": "npu:2"})
        node = api.json("PUT", "/nodes/here/drain", json={"reason": "  kernel\n update "})
        drain = {"reason": "kernel update", "by": "admin", "at": "2026-01-01T12:00:00.010000Z", "evict": False}
        assert (node["drain"], node["num_tasks"]) == (drain, 1)
        second = world.submit(resources={"device": "npu:2"})
        world.tick()
        assert world.job(first).state.value == "running"
        assert world.job(second).reason.code == "drained"
        assert world.job(second).reason.message == "requests 1 x (npu:2); node here is drained: kernel update"
        found = api.json("GET", f"/jobs/{second}/why")
        assert found["estimate"] is None
        assert found["resources"][0]["free"] == 0
        assert found["would_help"] == ["reopening a node (node here is drained: kernel update)"]
        world.engine.finish(first)
        world.tick(2)
        assert (world.job(first).state.value, world.job(second).state.value) == ("succeeded", "queued")
        assert api.json("DELETE", "/nodes/here/drain")["drain"] is None
        assert api.json("DELETE", "/nodes/here/drain")["drain"] is None
        world.tick()
        assert world.job(second).state.value == "starting"
        noted = [(item["action"], item["object"]) for item in api.json("GET", "/audit")["items"]]
        assert noted.count(("node.drain", "node/here")) == 1
        assert noted.count(("node.open", "node/here")) == 1

    def test_it_outlives_the_server_and_what_engines_say_of_their_nodes(self, world: World, api: Api) -> None:
        api.json("PUT", "/nodes/here/drain", json={"reason": "broken fan"})
        world.engine.unreachable.add("here")
        world.tick(scheduler=world.new_scheduler("server-1"))
        world.engine.unreachable.clear()
        world.scheduler = world.new_scheduler("server-1")
        job = world.submit()
        world.tick()
        assert api.json("GET", "/nodes")["items"][0]["drain"]["reason"] == "broken fan"
        assert world.job(job).reason.code == "drained"

    def test_a_job_that_was_placed_before_is_not_started_after(self, world: World, api: Api) -> None:
        job = world.started()
        world.engine.finish(job)
        world.tick(2)
        api.json("PUT", "/nodes/here/drain", json={"reason": "broken fan"})
        waiting = world.submit()
        with world.database.reading() as session:
            row = attempts.get_attempt(session, job, 1)
            assert row is not None
            placed = Placement.model_validate(row.placement)
        assert begin(world.context("server-1"), waiting, placed, engine="local", notes=[]) is None
        assert world.job(waiting).state.value == "queued"

    def test_evicted_jobs_go_back_into_the_queue(self, world: World, api: Api) -> None:
        firm, soft = world.started(), world.started(preemptible=True)
        api.json("PUT", "/nodes/here/drain", json={"reason": "broken fan", "evict": True})
        world.tick(3)
        assert world.job(firm).state.value == "running"
        job = world.job(soft)
        assert (job.state.value, job.attempt, job.reason.code) == ("queued", 1, "drained")
        events = [event["message"] for event in api.json("GET", f"/jobs/{soft}/events")["items"]]
        assert any(message.startswith("node here is drained: broken fan; processes have") for message in events)

    def test_what_is_wrong_is_named(self, api: Api) -> None:
        for body, told in (
            ({}, "required"),
            ({"reason": " "}, "expected a few words"),
            ({"reason": "x" * 301}, "at most 300 characters"),
        ):
            response = api("PUT", "/nodes/here/drain", json=body)
            assert response.status_code == 422
            assert told in response.json()["fields"]["reason"]
        response = api("PUT", "/nodes/nowhere/drain", json={"reason": "fan"})
        assert (response.status_code, "no node 'nowhere'" in response.text) == (404, True)
