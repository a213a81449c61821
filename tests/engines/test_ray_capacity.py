"""How much of a Ray cluster's node is Danlu's to give."""

from __future__ import annotations

from typing import Any

from danlu import __version__
from danlu.engines.base import NodeInfo
from danlu.engines.ray.agent import Agent
from danlu.engines.ray.capacity import describe, needs, unusable
from danlu.launch import make_plan
from danlu.spec.job import parse_job
from danlu.testing.engines import place

GIB = 1 << 30


def info(**changed: Any) -> dict[str, Any]:
    node = NodeInfo(name="one", cpus=8, memory_bytes=32 * GIB)
    return {**node.model_dump(mode="json"), **changed}


def device(number: int, *, type: str = "gpu", is_simulated: bool = False) -> dict[str, Any]:
    return {"type": type, "model": "a100", "id": number, "is_simulated": is_simulated}


def test_ray_has_less_than_the_machine() -> None:
    seen = describe(info(), total={"CPU": 4, "memory": 8 * GIB}, free={"CPU": 4, "memory": 8 * GIB}, ours={})
    assert (seen["cpus"], seen["memory_bytes"], seen["missing"]) == (4, 8 * GIB, [])


def test_what_others_hold_is_told_and_not_given() -> None:
    seen = describe(
        info(),
        total={"CPU": 8, "memory": 32 * GIB},
        free={"CPU": 3, "memory": 30 * GIB},
        ours={"CPU": 2},
    )
    assert (seen["cpus"], seen["memory_bytes"]) == (5, 30 * GIB)
    assert seen["missing"] == ["Other users of the Ray cluster hold here: 3 CPU, 2.0 GiB memory."]


def test_devices_that_ray_has_not_got_are_not_given() -> None:
    found = info(devices=[device(0), device(1), device(0, type="npu", is_simulated=True)])
    seen = describe(found, total={"CPU": 8, "memory": 32 * GIB, "GPU": 1}, free={"CPU": 8, "GPU": 1}, ours={})
    assert [(one["type"], one["id"]) for one in seen["devices"]] == [("gpu", 0), ("npu", 0)]
    assert "Ray was started with 1 GPU here: others are not used." in seen["missing"]


def test_no_device_is_given_while_others_hold_some_of_its_type() -> None:
    found = info(devices=[device(0), device(1)])
    seen = describe(found, total={"CPU": 8, "memory": 32 * GIB, "GPU": 2}, free={"CPU": 8, "GPU": 1}, ours={})
    assert seen["devices"] == []
    assert any("Others hold 1 GPU here" in sentence for sentence in seen["missing"])


def test_a_node_that_cannot_be_used_says_why_and_holds_nothing() -> None:
    node = NodeInfo.model_validate(unusable("one", "the agent is Danlu 2, and the server is 1"))
    assert (node.max_tasks, node.missing) == (0, ("Not used: the agent is Danlu 2, and the server is 1",))


def test_an_agent_refuses_a_server_of_another_version() -> None:
    kind, error, message = Agent.do(Agent.__new__(Agent), "0.0", "node")
    assert (kind, error) == ("refused", "EngineUnavailable")
    assert message == f"the agent is Danlu {__version__}, and the server is 0.0"


def test_tasks_need_what_they_ask_for_in_words_of_ray() -> None:
    job = parse_job(
        {"name": "x", "command": "true", "resources": {"device": "npu:910b:2", "cpus": 3, "memory": "2GiB"}}
    )
    node = NodeInfo(name="one", cpus=8, memory_bytes=32 * GIB, has_sandbox=True)
    placement = place(node, job_id="train-1", num_tasks=1)
    chosen = placement.tasks[0].model_copy(update={"device_ids": (4, 5), "device_model": "910b"})
    placement = placement.model_copy(update={"tasks": (chosen,)})
    plan = make_plan(job, job_id="train-1", attempt=1, placement=placement, output="store://o/x/")
    assert needs(plan.tasks, frozenset()) == {"CPU": 3.0, "memory": 2.0 * GIB, "NPU": 2.0}
    assert needs(plan.tasks, frozenset({"npu"})) == {"CPU": 3.0, "memory": 2.0 * GIB}
