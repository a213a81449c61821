"""Rank tables: good ones pass, one fault is named as that fault, and what is built for any placement is good."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from danlu.errors import InvalidInput
from danlu.launch import Placement, TaskPlacement
from danlu.launch.ascend import build_table
from danlu.launch.ranktable import Chip, RankedDevice, RankTable, Server, check, convert, write_a, write_b, write_c
from danlu.launch.ranktable.rules import choose

Table = dict[str, Any]


def table(num_servers: int = 2, num_devices: int = 2) -> RankTable:
    return RankTable(
        tuple(
            Server(
                f"10.0.0.{10 + server}",
                f"job-{server}",
                tuple(
                    RankedDevice(number, f"192.168.{server + 1}.{number + 8}", server * num_devices + number)
                    for number in range(num_devices)
                ),
            )
            for server in range(num_servers)
        )
    )


def good(shape: str) -> Table:
    if shape == "A2":
        return with_super_pods(json.loads(write_a(table())))
    if shape == "A1":
        return dict(json.loads(write_a(table(1))))
    return dict(json.loads({"A": write_a, "B": write_b, "C": write_c}[shape](table())))


def with_super_pods(made: Table) -> Table:
    made["version"] = "1.2"
    for server in made["server_list"]:
        for number, device in enumerate(server["device"]):
            device["super_device_id"] = str(number)
    made["super_pod_list"] = [
        {"super_pod_id": str(number), "server_list": [{"server_id": server["server_id"]}]}
        for number, server in enumerate(made["server_list"])
    ]
    return made


def put(*steps: Any) -> Callable[[Table], None]:
    """Set the value at a path: the last step is the value."""

    def change(made: Any) -> None:
        *path, name, value = steps
        for step in path:
            made = made[step]
        made[name] = value

    return change


def drop(*steps: Any) -> Callable[[Table], None]:
    def change(made: Any) -> None:
        *path, name = steps
        for step in path:
            made = made[step]
        del made[name]

    return change


DEVICE = ("server_list", 1, "device", 0)
GROUP = ("group_list", 0)
OF_B = (*GROUP, "instance_list", 3)
OF_C = (*GROUP, "instance_list", 1)
A_DEVICE, B_DEVICE, C_DEVICE = (
    "server_list[1].device[0]",
    "group_list[0].instance_list[3].devices[0]",
    "group_list[0].instance_list[1].devices[0]",
)
NUMBERS_MUST_BE_TEXT = "every value must be a string"

BROKEN: list[tuple[str, Callable[[Table], None], str, str]] = [
    # shape, what is done to a good one, where the one fault is, a part of what is said
    ("A", drop("status"), "status", 'expected "completed"'),
    ("A", put("status", "ready"), "status", 'expected "completed"'),
    ("A", put("status", "initializing"), "status", "not finished"),
    ("A", put("status", True), "status", NUMBERS_MUST_BE_TEXT),
    ("A", put("version", 1.0), "version", NUMBERS_MUST_BE_TEXT),
    ("A", put("version", "3.0"), "version", "does not support"),
    ("A", put("version", "1.1"), "version", "processors and chips"),
    ("A", put("version", "2.0"), "version", "Atlas 350"),
    ("A", put("server_count", 2), "server_count", '"2" in quotes'),
    ("A", put("server_count", "two"), "server_count", "not a whole number"),
    ("A", put("server_count", "3"), "server_count", 'server_list has 2; expected "2"'),
    ("A", drop("server_list"), "server_list", "one object for each server"),
    ("A", put("server_list", []), "server_list", "one object for each server"),
    ("A", put("server_list", {}), "server_list", "one object for each server"),
    ("A", drop("server_list", 1, "server_id"), "server_list[1].server_id", "address or name"),
    ("A", put("server_list", 1, "server_id", ""), "server_list[1].server_id", "address or name"),
    ("A", put("server_list", 1, "server_id", "10.0.0.10"), "server_list[1].server_id", "listed once"),
    ("A", put("server_list", 1, "server_id", "s" * 65), "server_list[1].server_id", "at most 64"),
    ("A", put("server_list", 1, "server_id", 7), "server_list[1].server_id", NUMBERS_MUST_BE_TEXT),
    ("A", put("server_list", 0, "host_ip", "10.0.0.1"), "server_list[1].host_ip", "all servers or for none"),
    ("A", put(*DEVICE, "device_id", 0), f"{A_DEVICE}.device_id", '"0" in quotes'),
    ("A", put(*DEVICE, "device_id", "16"), f"{A_DEVICE}.device_id", '"0" to "15"'),
    ("A", put(*DEVICE, "device_id", "-1"), f"{A_DEVICE}.device_id", "not a whole number"),
    ("A", put("server_list", 1, "device", 1, "device_id", "0"), "server_list[1].device[1].device_id", "listed once"),
    ("A", drop(*DEVICE, "device_id"), f"{A_DEVICE}.device_id", "physical id"),
    ("A", drop(*DEVICE, "device_ip"), f"{A_DEVICE}.device_ip", "more than one server"),
    ("A", put(*DEVICE, "device_ip", ""), f"{A_DEVICE}.device_ip", "more than one server"),
    ("A", put(*DEVICE, "device_ip", "192.168.1.256"), f"{A_DEVICE}.device_ip", "is not an IPv4 or IPv6 address"),
    ("A", put(*DEVICE, "device_ip", "192.168.1.8"), f"{A_DEVICE}.device_ip", "address of its own"),
    ("A", put(*DEVICE, "device_ip", "192.168.2.8,192.168.3.8"), f"{A_DEVICE}.device_ip", "the same number"),
    ("A", drop(*DEVICE, "rank_id"), f"{A_DEVICE}.rank_id", 'each of "0" to "3" once'),
    ("A", put(*DEVICE, "rank_id", 2), f"{A_DEVICE}.rank_id", '"2" in quotes'),
    ("A", put(*DEVICE, "rank_id", "1"), f"{A_DEVICE}.rank_id", "is listed at server_list[0].device[1].rank_id"),
    ("A", put(*DEVICE, "rank_id", "4"), f"{A_DEVICE}.rank_id", "there are 4 devices"),
    ("A", put(*DEVICE, "rank_id", "x"), f"{A_DEVICE}.rank_id", "not a whole number"),
    ("A", put(*DEVICE, "device_port", "70000"), f"{A_DEVICE}.device_port", "1 to 65535"),
    ("A", put("server_list", 1, "host_nic_ip", None), "server_list[1].host_nic_ip", NUMBERS_MUST_BE_TEXT),
    ("A1", put("server_list", 0, "device", []), "server_list[0].device", "one object for each device"),
    ("A1", drop("server_list", 0, "device"), "server_list[0].device", "one object for each device"),
    ("A1", put("server_list", 0, "host_ip", "here"), "server_list[0].host_ip", "is not an IPv4"),
    ("A2", put("super_pod_list", []), "super_pod_list", "one object for each super pod"),
    ("A2", drop(*DEVICE, "super_device_id"), f"{A_DEVICE}.super_device_id", "super_pod_list needs it"),
    (
        "A2",
        put("server_list", 1, "device", 1, "super_device_id", "0"),
        "server_list[1].device[1].super_device_id",
        "unique inside its super pod",
    ),
    ("A2", put("super_pod_list", 1, "super_pod_id", "0"), "super_pod_list[1].super_pod_id", "has its own"),
    ("B", drop("status"), "status", 'expected "completed"'),
    ("B", put("deploy_mode", "cloud"), "deploy_mode", 'expected "lab"'),
    ("B", drop("para_plane_nic_location"), "para_plane_nic_location", 'expected "device"'),
    ("B", put("para_plane_nic_location", "host"), "para_plane_nic_location", 'expected "device"'),
    ("B", put("para_plane_nic_num", 8), "para_plane_nic_num", NUMBERS_MUST_BE_TEXT),
    ("B", put("group_count", "2"), "group_count", 'expected "1"'),
    ("B", put(*GROUP, "device_num", "8"), "group_list[0].device_num", "there are 4 devices"),
    ("B", put(*GROUP, "instance_count", "2"), "group_list[0].instance_count", "there are 4 instances"),
    ("B", put(*GROUP, "server_num", "0"), "group_list[0].server_num", 'expected "2"'),
    ("B", put(*GROUP, "server_num", "4"), "group_list[0].server_num", "name 2 servers"),
    ("B", drop(*OF_B, "rank_id"), "group_list[0].instance_list[3].rank_id", 'each of "0" to "3" once'),
    ("B", put(*OF_B, "rank_id", "0"), "group_list[0].instance_list[3].rank_id", "is listed at"),
    ("B", drop(*OF_B, "devices"), "group_list[0].instance_list[3].devices", "instance's devices"),
    ("B", drop(*OF_B, "devices", 0, "device_ip"), f"{B_DEVICE}.device_ip", "own network card"),
    ("B", put(*OF_B, "devices", 0, "device_ip", "x"), f"{B_DEVICE}.device_ip", "not an address"),
    ("B", put(*OF_B, "devices", 0, "device_id", "8"), f"{B_DEVICE}.device_id", '"0" to "7"'),
    ("C", put("status", "initializing"), "status", "not finished"),
    ("C", drop("group_list"), "group_list", "one object for each group"),
    ("C", put("group_count", 1), "group_count", '"1" in quotes'),
    ("C", put("group_count", "2"), "group_count", "group_list has 1"),
    ("C", put(*GROUP, "device_count", "0"), "group_list[0].device_count", "there are 4 devices"),
    ("C", put(*GROUP, "device_count", "5"), "group_list[0].device_count", "there are 4 devices"),
    ("C", put(*GROUP, "instance_count", "1"), "group_list[0].instance_count", "there are 2 instances"),
    ("C", put(*OF_C, "pod_name", "job-0"), "group_list[0].instance_list[1].pod_name", "each task has its own"),
    ("C", drop(*OF_C, "pod_name"), "group_list[0].instance_list[1].pod_name", "the task's name"),
    ("C", drop(*OF_C, "server_id"), "group_list[0].instance_list[1].server_id", "own address"),
    ("C", put(*OF_C, "devices", 0, "device_id", "8"), f"{C_DEVICE}.device_id", '"0" to "7"'),
    ("C", drop(*OF_C, "devices", 0, "device_ip"), f"{C_DEVICE}.device_ip", "own network card"),
    ("C", put(*OF_C, "devices", 0, "device_ip", ""), f"{C_DEVICE}.device_ip", "not an address"),
    ("C", put(*OF_C, "devices", 0, "device_ip", "192.168.1.8"), f"{C_DEVICE}.device_ip", "address of its own"),
]


@pytest.mark.parametrize("shape", ["A", "A1", "A2", "B", "C"])
def test_a_good_table_has_no_fault(shape: str) -> None:
    assert check(json.dumps(good(shape))) == []


def in_one_pod(made: Table) -> None:
    """Both servers in one super pod, whose devices talk without their network cards."""
    first, second = made["super_pod_list"]
    first["server_list"] += second["server_list"]
    made["super_pod_list"] = [first]
    for number, device in enumerate(device for server in made["server_list"] for device in server["device"]):
        device["super_device_id"] = str(number)
        del device["device_ip"]


@pytest.mark.parametrize(
    ("shape", "change"),
    [
        ("A", put("server_list", 1, "server_id", "s" * 64)),
        ("A2", drop("super_pod_list")),
        ("A2", in_one_pod),
        ("C", drop(*GROUP, "group_name")),
    ],
)
def test_what_may_be_left_out_is_no_fault(shape: str, change: Callable[[Table], None]) -> None:
    made = good(shape)
    change(made)
    assert check(json.dumps(made)) == []


@pytest.mark.parametrize(("write", "path"), [(write_a, "server_list[0].device"), (write_b, "instances of server")])
def test_ranks_of_two_servers_do_not_interleave(write: Callable[[RankTable], str], path: str) -> None:
    ranks = [[0, 1, 2, 7], [3, 4, 5, 6]]
    made = table(2, 4)
    servers = tuple(
        replace(server, devices=tuple(replace(device, rank_id=rank) for device, rank in zip(server.devices, own)))
        for server, own in zip(made.servers, ranks)
    )
    (fault,) = check(write(RankTable(servers)))
    assert fault.path.startswith(path)
    assert '"0, 1, 2, 7"; expected ranks that follow each other' in str(fault)


def test_the_tables_of_the_documentation_are_good() -> None:
    page = Path(__file__).parents[2] / "docs" / "formats" / "ranktable.md"
    shown = re.findall(r"```json\n(.*?)```", page.read_text(), re.DOTALL)
    assert [check(text) for text in shown] == [[], [], []]


@pytest.mark.parametrize(("shape", "change", "path", "told"), BROKEN)
def test_one_fault_is_named_once(shape: str, change: Callable[[Table], None], path: str, told: str) -> None:
    made = deepcopy(good(shape))
    change(made)
    faults = check(json.dumps(made))
    assert [fault.path for fault in faults] == [path], faults
    assert told in str(faults[0])


def test_there_are_many_broken_tables() -> None:
    assert len({(shape, path, told) for shape, _, path, told in BROKEN}) >= 40


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "the file is empty"),
        ("{", "file: line 1, column 2; not JSON"),
        ("[]", "expected one JSON object"),
        ("[" * 100_000, "not JSON"),
        ('{"status": "completed", "status": "completed"}', "status: twice in one object"),
    ],
)
def test_a_file_that_is_no_table(text: str, told: str) -> None:
    assert told in "\n".join(map(str, check(text)))


def test_the_file_name_must_end_in_json() -> None:
    assert [str(fault) for fault in check(json.dumps(good("A")), file_name="hccl.txt")] == [
        'file: "hccl.txt"; HCCL opens only files whose name ends in .json'
    ]


def test_servers_with_different_numbers_of_devices() -> None:
    made = good("A")
    made["server_list"][1]["device"].pop()
    assert [fault.path for fault in check(json.dumps(made))] == ["server_list[1].device"]


class TestChip:
    def test_the_ids_of_a_910_end_at_7(self) -> None:
        made = good("A1")
        made["server_list"][0]["device"][1]["device_id"] = "8"
        assert check(json.dumps(made), chip=Chip.ASCEND_910B) == []
        paths = {fault.path for fault in check(json.dumps(made), chip=Chip.ASCEND_910)}
        assert paths == {"server_list[0].device[1].device_id", "server_list[0].device"}

    def test_two_devices_of_a_910_lie_in_one_ring(self) -> None:
        made = good("A1")
        made["server_list"][0]["device"][1]["device_id"] = "4"
        (fault,) = check(json.dumps(made), chip=Chip.ASCEND_910)
        assert str(fault) == (
            'server_list[0].device: "0, 4"; 2 devices must lie inside one ring of the chip, 0-3 or 4-7'
        )

    def test_three_devices_do_not_work_together_on_a_910(self) -> None:
        text = write_a(table(1, 3))
        assert check(text) == []
        (fault,) = check(text, chip=Chip.ASCEND_910)
        assert "1, 2, 4 or 8 devices" in fault.right


class TestChoose:
    @pytest.mark.parametrize(
        ("free", "count", "chip", "chosen"),
        [
            ([3, 4, 5], 2, Chip.ASCEND_910, (4, 5)),
            ([3, 4], 2, Chip.ASCEND_910, None),
            ([3, 4], 2, None, None),
            ([3, 4], 2, Chip.ASCEND_910B, (3, 4)),
            ([1, 2, 3, 4, 5, 6, 7], 4, Chip.ASCEND_910, (4, 5, 6, 7)),
            (list(range(16)), 8, Chip.ASCEND_910B, tuple(range(8))),
            (list(range(8, 16)), 8, Chip.ASCEND_910, None),
            ([16, 17], 1, Chip.ASCEND_910B, None),
        ],
    )
    def test_the_lowest_that_work_together(
        self, free: list[int], count: int, chip: Chip | None, chosen: tuple[int, ...] | None
    ) -> None:
        assert choose(free, count, chip) == chosen


class TestConvert:
    def test_ranks_follow_the_number_of_the_task_not_the_order_of_the_file(self) -> None:
        made = json.loads(write_c(table(11, 1)))
        made["group_list"][0]["instance_list"].reverse()
        converted = convert(json.dumps(made))
        assert check(converted) == []
        assert converted == write_a(table(11, 1))

    def test_tasks_of_one_server_become_one_server(self) -> None:
        made = good("C")
        made["group_list"][0]["instance_list"][1]["server_id"] = "10.0.0.10"
        for number, device in enumerate(made["group_list"][0]["instance_list"][1]["devices"]):
            device["device_id"] = str(number + 4)
        converted = json.loads(convert(json.dumps(made)))
        assert converted["server_count"] == "1"
        assert [device["rank_id"] for device in converted["server_list"][0]["device"]] == ["0", "1", "2", "3"]

    @pytest.mark.parametrize(
        ("change", "told"),
        [
            (put("status", "initializing"), "not finished"),
            (put(*OF_C, "pod_name", "worker"), "does not end in a number"),
            (put("version", "1.0"), "server_list: missing"),
        ],
    )
    def test_a_faulty_table_is_refused(self, change: Callable[[Table], None], told: str) -> None:
        made = good("C")
        change(made)
        with pytest.raises(InvalidInput, match=told):
            convert(json.dumps(made))

    def test_a_second_group_is_not_dropped(self) -> None:
        made = good("C")
        other = deepcopy(made["group_list"][0])
        other["group_name"] = "other"
        for instance in other["instance_list"]:
            instance["pod_name"] = f"other-{instance['pod_name']}"
        made["group_list"].append(other)
        made["group_count"] = "2"
        with pytest.raises(InvalidInput, match="group_list has 2 groups"):
            convert(json.dumps(made))

    @pytest.mark.parametrize("shape", ["A", "B"])
    def test_another_shape_is_refused(self, shape: str) -> None:
        with pytest.raises(InvalidInput, match=f"has shape {shape}"):
            convert(json.dumps(good(shape)))


@st.composite
def placements(draw: st.DrawFn) -> Placement:
    """Any number of tasks, on nodes of their own or together, with addresses of their own or not."""
    num_tasks = draw(st.integers(1, 40))
    count = draw(st.sampled_from([1, 2, 4, 8]))
    largest = draw(st.sampled_from([7, 15]))
    own_network = draw(st.booleans())
    is_known = draw(st.booleans())
    ids = st.lists(st.integers(0, largest), min_size=count, max_size=count, unique=True)
    tasks = tuple(
        TaskPlacement(
            rank=rank,
            node=f"node-{draw(st.integers(0, 3))}",
            address=f"10.88.0.{rank + 1}" if own_network else "127.0.0.1",
            device_ids=tuple(draw(ids)),
            device_ips=tuple(f"192.168.{rank}.{index + 1}" for index in range(count)) if is_known else (),
            has_simulated_devices=not is_known,
        )
        for rank in range(num_tasks)
    )
    return Placement(tasks=tasks, master_port=23456)


@given(placements())
def test_whatever_is_built_for_a_placement_is_good(placement: Placement) -> None:
    made = build_table("train-063201600010159575", placement)
    text = write_a(made)
    assert check(text) == []
    devices = [device for server in json.loads(text)["server_list"] for device in server["device"]]
    assert [device["rank_id"] for device in devices] == [str(number) for number in range(len(devices))]
    if all(number <= 7 for task in placement.tasks for number in task.device_ids):
        assert check(write_b(made)) == []
        assert check(write_c(made)) == []
        assert convert(write_c(made)) == text
    else:
        with pytest.raises(ValueError, match="knows 0 to 7"):
            write_c(made)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner) | inner))
def test_nothing_in_a_field_breaks_the_check(value: object) -> None:
    for shape in "ABC":
        for name in good(shape):
            made = good(shape)
            made[name] = value
            for fault in check(json.dumps(made)):
                assert str(fault)


def test_a_table_of_one_node_needs_no_addresses() -> None:
    place = TaskPlacement(rank=0, node="here", address="10.88.0.1", device_ids=(4, 5))
    made = write_a(build_table("train-1", Placement(tasks=(place,), master_port=1)))
    assert check(made) == []
    assert "device_ip" not in made
