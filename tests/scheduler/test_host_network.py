"""Jobs on the network of their nodes: ports are allotted, and two jobs with one fixed port never share a node."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.scheduler.test_policy import NOW, free, queued
from tests.support.world import World

from danlu.errors import InvalidSpec
from danlu.scheduler.policy.decide import decide
from danlu.scheduler.policy.snapshot import FreeNode, QueuedJob, Snapshot, Start, Wait
from danlu.scheduler.ports import HOST_PORTS, OWN_NETWORK_PORT
from danlu.spec.states import JobState

FIXED = 29500


def on_host(number: int, **fields: Any) -> QueuedJob:
    return queued(number, network="host", **fields)


def machine(name: str, address: str) -> FreeNode:
    return free(
        name, has_own_network=True, joins_networks=True, address=address, interface="eth1", holds_many_tasks=True
    )


TWO = (machine("n0", "10.0.0.1"), machine("n1", "10.0.0.2"))


def starts(*jobs: QueuedJob, nodes: tuple[FreeNode, ...] = TWO, **more: Any) -> dict[str, Start]:
    found = decide(Snapshot(queue=jobs, nodes=nodes, **more), NOW)
    return {action.job_id: action for action in found if isinstance(action, Start)}


def test_a_job_on_the_host_network_has_the_addresses_of_its_nodes() -> None:
    placement = starts(on_host(1, nodes=2))["train-1"].placement
    assert not placement.has_own_network
    assert [task.address for task in placement.tasks] == ["10.0.0.1", "10.0.0.2"]
    assert {task.interface for task in placement.tasks} == {"eth1"}


def test_ports_are_allotted_once() -> None:
    found = starts(on_host(1, nodes=2), on_host(2, nodes=2))
    ports = [
        port
        for start in found.values()
        for port in (start.placement.master_port, *(task.port for task in start.placement.tasks))
    ]
    assert len(set(ports)) == len(ports) == 6
    assert set(ports) <= set(HOST_PORTS)


def test_without_ports_a_job_waits_and_others_start() -> None:
    used = frozenset(HOST_PORTS) - {HOST_PORTS[0]}
    actions = decide(Snapshot(queue=(on_host(1), queued(2, nodes=2)), nodes=TWO, ports_in_use=used), NOW)
    assert [action.job_id for action in actions if isinstance(action, Start)] == ["train-2"]
    (wait,) = (action for action in actions if isinstance(action, Wait))
    assert (wait.job_id, wait.why.code) == ("train-1", "no_capacity")
    assert wait.why.message == "all ports for jobs on the network of their nodes (23500 to 31999) are in use"


def test_others_keep_their_private_network() -> None:
    placement = starts(on_host(1), queued(2, nodes=2))["train-2"].placement
    assert (placement.has_own_network, placement.master_port) == (True, OWN_NETWORK_PORT)


def test_two_jobs_with_one_fixed_port_never_share_a_node() -> None:
    jobs = [on_host(number, ports=[FIXED]) for number in range(3)]
    actions = decide(Snapshot(queue=tuple(jobs), nodes=TWO), NOW)
    placed = [action.placement.tasks[0].node for action in actions if isinstance(action, Start)]
    assert sorted(placed) == ["n0", "n1"]
    (waits,) = [action for action in actions if isinstance(action, Wait)]
    assert waits.why.code == "no_capacity"
    assert f"port {FIXED}" in waits.why.message


def test_other_fixed_ports_share_a_node() -> None:
    one = (TWO[0],)
    assert len(starts(on_host(1, ports=[FIXED]), on_host(2, ports=[FIXED + 1]), nodes=one)) == 2


def test_tasks_of_one_job_may_share_a_node() -> None:
    assert len(starts(on_host(1, ports=[FIXED], nodes=3), nodes=(TWO[0],))) == 1


class TestTheLoop:
    @pytest.fixture(autouse=True)
    def _allowed(self, world: World) -> None:
        allowed = world.settings.model_copy(update={"host_network": True})
        world.state = replace(world.state, settings=allowed)

    def test_a_fixed_port_is_free_again_when_its_job_has_ended(self, world: World) -> None:
        first = world.started(network="host", ports=[FIXED])
        second = world.submit(network="host", ports=[FIXED])
        world.tick()
        assert world.job(second).reason.code == "no_capacity"
        world.engine.finish(first)
        world.tick()
        assert world.job(second).state is JobState.STARTING

    def test_a_fixed_port_waits_for_a_job_that_was_allotted_it(self, world: World) -> None:
        first = world.started(network="host")
        second = world.submit(network="host", ports=[HOST_PORTS[0]])
        world.tick()
        assert world.job(second).reason.code == "no_capacity"
        world.engine.finish(first)
        world.tick()
        assert world.job(second).state is JobState.STARTING

    def test_a_port_that_a_waiting_job_must_have_is_not_allotted(self, world: World) -> None:
        world.submit(network="host", ports=[HOST_PORTS[0]], nodes=99)
        other = world.started(network="host", launch="ddp")
        plan = next(plan for plan in world.engine.plans if plan.job_id == other)
        assert plan.tasks[0].env["MASTER_PORT"] == str(HOST_PORTS[1])


def test_the_host_network_is_refused_unless_an_admin_allowed_it(world: World) -> None:
    with pytest.raises(InvalidSpec, match="DANLU_SERVER_HOST_NETWORK"):
        world.submit(network="host")


def test_fixed_ports_go_with_the_host_network(world: World) -> None:
    with pytest.raises(InvalidSpec, match="requires network: host"):
        world.submit(ports=[FIXED])
