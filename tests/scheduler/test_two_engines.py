"""Nodes of two engines in one server: a job runs on either, never on both."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.fakes.engine import FakeEngine
from tests.scheduler.test_fairness import NPUS, queued, running, snapshot
from tests.scheduler.test_policy import NOW, free
from tests.support.steps import want
from tests.support.world import World, make_node

from danlu.errors import EngineUnavailable
from danlu.scheduler.listing import keep_apart, nodes_of
from danlu.scheduler.loop import Scheduler
from danlu.scheduler.policy.decide import decide
from danlu.scheduler.policy.snapshot import Evict, FreeNode, Start, Wait
from danlu.spec.nodes import NodeInfo
from danlu.spec.states import JobState


def node(name: str, engine: str, **flags: Any) -> FreeNode:
    return free(name, npus=8, engine=engine, **flags)


FAR = (node("r0", "ray"), node("r1", "ray"))
HERE = node("here", "local", holds_many_tasks=True)


class TestPolicy:
    def test_a_gang_stays_on_the_nodes_of_one_engine(self) -> None:
        """One device is free there, and the node with the fewest free devices is taken first; two are needed."""
        live = [running(100, 1, NPUS[:7], on="r0"), running(101, 1, NPUS, on="r1")]
        found = snapshot([queued(1, nodes=2)], live, *FAR, HERE)
        (start,) = decide(found, NOW)
        assert isinstance(start, Start)
        assert {task.node for task in start.placement.tasks} == {"here"}

    def test_a_gang_prefers_the_engine_that_is_named_first(self) -> None:
        (start,) = decide(snapshot([queued(1, nodes=2)], [], *FAR, HERE), NOW)
        assert isinstance(start, Start)
        assert {task.node for task in start.placement.tasks} == {"r0", "r1"}

    def test_one_task_goes_wherever_it_fits(self) -> None:
        live = [running(100, 1, NPUS, on="r0"), running(101, 1, NPUS, on="r1")]
        (start,) = decide(snapshot([queued(1)], live, *FAR, HERE), NOW)
        assert isinstance(start, Start)
        assert [task.node for task in start.placement.tasks] == ["here"]

    def test_a_gang_that_only_both_could_hold_is_told_so(self) -> None:
        actions = decide(snapshot([queued(1, device="npu:8", nodes=3)], [], *FAR, HERE), NOW)
        assert [action.why.code for action in actions if isinstance(action, Wait)] == ["no_such_node"]
        assert "nodes of one engine (ray, local)" in actions[0].why.message  # type: ignore[union-attr]

    def test_nobody_is_evicted_for_a_gang_on_both(self) -> None:
        """One node of each engine could be cleared; the gang needs two of one."""
        firm, soft = running(100, 1, NPUS, on="r0"), {"is_preemptible": True}
        live = [firm, running(101, 1, NPUS, on="r1", **soft), running(102, 1, NPUS, on="here", **soft)]
        actions = decide(snapshot([queued(1, device="npu:8", nodes=2)], live, *FAR, HERE), NOW)
        assert not [action for action in actions if isinstance(action, Evict)]

    def test_who_is_evicted_for_a_gang_is_on_one_engine(self) -> None:
        live = [
            running(100 + number, 1, NPUS, on=name, is_preemptible=True, age=age)
            for number, (name, age) in enumerate((("r0", 50.0), ("here", 1.0), ("r1", 60.0)))
        ]
        actions = decide(snapshot([queued(1, device="npu:8", nodes=2)], live, *FAR, HERE), NOW)
        assert {action.job_id for action in actions if isinstance(action, Evict)} == {"train-100", "train-102"}

    def test_nodes_of_one_engine_are_reserved(self) -> None:
        live = [running(100, 1, NPUS, on="r0"), running(101, 1, NPUS, on="here")]
        wanted = [queued(1, device="npu:8", nodes=2, waited=600.0), queued(2)]
        actions = decide(snapshot(wanted, live, *FAR, HERE), NOW)
        codes = {action.job_id: action.why.code for action in actions if isinstance(action, Wait)}
        assert codes == {"train-001": "reserved", "train-002": "no_capacity"}


class Machines(FakeEngine):
    """An engine of other machines."""

    name = "ray"
    is_remote = True
    closed: tuple[str, ...] = ()

    def addresses(self) -> list[str]:
        return [info.address for info in self.infos]

    def keep_away_from(self, addresses: Any) -> None:
        self.closed = tuple(addresses)


def info(name: str, address: str = "") -> NodeInfo:
    return NodeInfo(name=name, cpus=2, memory_bytes=1 << 30, address=address)


class TestListing:
    def test_a_machine_that_another_engine_has_is_listed_once(self) -> None:
        local = FakeEngine([info("this-machine")])
        for others in ([info("10.0.0.9", "10.0.0.9"), info("far", "127.0.0.1")], [info("this-machine", "192.0.2.1")]):
            assert nodes_of("local", local, others={one.name: one for one in others}) == []
        assert [one.engine for one in nodes_of("local", local, others={"far": info("far", "192.0.2.1")})] == ["local"]

    def test_each_engine_knows_the_machines_of_the_others(self) -> None:
        ray, other = Machines([info("far", "192.0.2.1"), info("head", "192.0.2.2")]), Machines([])
        keep_apart({"ray": ray, "other": other})
        assert (other.closed, ray.closed) == (("192.0.2.1", "192.0.2.2"), ())


def restart_with(world: World, **engines: FakeEngine) -> None:
    """The server starts again, with other engines."""
    world.scheduler = Scheduler(replace(world.context("server-1"), engines=engines), queue_share=1.0)


def was_not_confirmed(world: World) -> str:
    """A job whose start the engine has not confirmed."""
    world.engine.start_problems = [EngineUnavailable("the cluster is away")]
    job_id = world.submit()
    world.tick()
    return job_id


class TestAnEngineThatIsNoLongerConfigured:
    def test_a_start_that_was_not_confirmed_is_kept_and_others_go_on(self, world: World) -> None:
        kept, far = was_not_confirmed(world), Machines([make_node("far")])
        restart_with(world, ray=far)
        other = world.submit()
        world.tick(2)
        far.finish(other)
        world.tick()
        assert (world.job(kept).state, world.job(kept).reason.code) == (JobState.STARTING, "unreachable")
        assert world.job(other).state is JobState.SUCCEEDED

    def test_it_starts_when_the_engine_is_back(self, world: World) -> None:
        kept = was_not_confirmed(world)
        restart_with(world, ray=Machines([make_node("far")]))
        world.tick()
        restart_with(world, local=world.engine)
        world.tick()
        world.engine.run(kept)
        world.tick()
        assert (world.job(kept).state, world.job(kept).attempt) == (JobState.RUNNING, 1)

    def test_a_stop_is_accepted_and_ends_it_without_a_start_when_the_engine_is_back(self, world: World) -> None:
        kept = was_not_confirmed(world)
        restart_with(world, ray=Machines([make_node("far")]))
        want(world, kept, "stop")
        world.tick(2)
        assert world.job(kept).state is JobState.STOPPING
        restart_with(world, local=world.engine)
        world.tick()
        assert (world.job(kept).state, world.job(kept).reason.code) == (JobState.STOPPED, "stopped_by_user")
        assert world.engine.plans == []
