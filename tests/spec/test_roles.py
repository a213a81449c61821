"""The groups of a job, and whose end is the job's."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from danlu.errors import InvalidSpec
from danlu.spec.job import parse_job, stored_job
from danlu.spec.roles import check, group_of, groups, members, success_rule

PS_WORKER: dict[str, Any] = {
    "launch": "ps_worker",
    "roles": {
        "evaluator": {"command": "e"},
        "ps": {"command": "p", "count": 2, "resources": {"memory": "4GB"}},
        "worker": {"command": "w", "count": 3, "resources": {"device": "gpu:4"}},
    },
}
CHIEF = {**PS_WORKER, "roles": {**PS_WORKER["roles"], "chief": {"command": "c"}}}
MPI = {"launch": "mpi", "command": "mpirun x", "nodes": 3}
MPI_ROLES = {"launch": "mpi", "roles": {"worker": {"count": 2}, "launcher": {"command": "mpirun x"}}}


def shape(values: dict[str, Any]) -> list[tuple[str, int]]:
    return [(group.role, group.count) for group in groups(parse_job({"name": "a", **values}))]


def test_ranks_go_through_the_roles_in_one_order_whatever_the_order_in_the_file() -> None:
    assert shape(CHIEF) == [("chief", 1), ("worker", 3), ("ps", 2), ("evaluator", 1)]
    assert shape(MPI_ROLES) == [("launcher", 1), ("worker", 2)]
    assert shape({"roles": {name: {"command": "x"} for name in ("zoo", "ps", "bar")}}) == [
        ("ps", 1),
        ("zoo", 1),
        ("bar", 1),
    ]


def test_a_job_without_roles_is_one_group_and_a_launcher_with_mpi() -> None:
    assert shape({"command": "x", "nodes": 4}) == [("worker", 4)]
    assert shape(MPI) == [("launcher", 1), ("worker", 2)]
    assert shape({**MPI, "nodes": 1}) == [("launcher", 1)]


def test_the_nodes_of_a_job_with_roles_are_counted_and_stored() -> None:
    spec = parse_job({"name": "a", **PS_WORKER})
    assert spec.nodes == 6
    assert stored_job(spec.model_dump(mode="json")) == spec
    assert parse_job(spec.model_dump(mode="json")) == spec


@given(st.dictionaries(st.from_regex(r"[a-z][a-z0-9]{0,5}", fullmatch=True), st.integers(1, 5), min_size=1, max_size=5))
def test_every_rank_has_one_role_and_one_index(counts: dict[str, int]) -> None:
    counts = {name: count for name, count in counts.items() if name not in ("all", "any")} or {"worker": 1}
    spec = parse_job({"name": "a", "roles": {name: {"command": "x", "count": n} for name, n in counts.items()}})
    found = members(spec)
    assert [member.rank for member in found] == list(range(spec.nodes))
    assert {(member.role, member.index) for member in found} == {
        (name, index) for name, count in counts.items() for index in range(count)
    }
    assert [group_of(spec, member.rank) for member in found] == [member.group for member in found]


@pytest.mark.parametrize(
    ("values", "ranks", "needs_all"),
    [
        ({"command": "x", "nodes": 3}, {0, 1, 2}, True),
        ({"command": "x", "nodes": 3, "launch": "ddp"}, {0, 1, 2}, True),
        ({"command": "x", "nodes": 3, "success": "any"}, {0, 1, 2}, False),
        ({"command": "x", "nodes": 3, "success": "chief"}, {0}, True),
        ({"command": "x", "nodes": 3, "success": "worker-0"}, {0}, True),
        ({"command": "x", "nodes": 3, "success": "worker-2"}, {2}, True),
        (PS_WORKER, {0, 1, 2}, True),
        (CHIEF, {0}, True),
        ({**CHIEF, "success": "worker"}, {1, 2, 3}, True),
        ({**CHIEF, "success": "worker-0"}, {1}, True),
        ({**CHIEF, "success": "all"}, set(range(7)), True),
        ({"launch": "ps_worker", "roles": {"worker": {"command": "x", "count": 2}}}, {0, 1}, True),
        (MPI, {0}, True),
        (MPI_ROLES, {0}, True),
        ({**MPI, "launch": "horovod"}, {0}, True),
    ],
)
def test_whose_end_is_the_jobs(values: dict[str, Any], ranks: set[int], needs_all: bool) -> None:
    spec = parse_job({"name": "a", **values})
    check(spec)
    rule = success_rule(spec)
    assert (set(rule.ranks), rule.needs_all) == (ranks, needs_all)


@pytest.mark.parametrize(
    ("values", "place", "told"),
    [
        ({"launch": "ddp", "roles": {"worker": {"command": "x"}}}, "roles", "launch: ddp does not support roles"),
        ({"launch": "ps_worker", "command": "x"}, "roles", "launch: ps_worker needs the role worker"),
        ({**PS_WORKER, "roles": {"ps": {"command": "x"}}}, "roles", "launch: ps_worker needs the role worker"),
        (
            {**PS_WORKER, "roles": {**PS_WORKER["roles"], "master": {"command": "x"}}},
            "roles.master",
            "unknown role; launch: ps_worker has chief, worker, ps, evaluator",
        ),
        (
            {**CHIEF, "roles": {**CHIEF["roles"], "chief": {"command": "x", "count": 2}}},
            "roles.chief.count",
            "expected 1, got 2",
        ),
        ({**CHIEF, "roles": {**CHIEF["roles"], "ps": {}}}, "roles.ps.command", "this field is required"),
        ({"roles": {"actor": {}}}, "roles.actor.command", "this field is required"),
        ({**MPI_ROLES, "roles": {"worker": {}}}, "roles", "launch: mpi with roles needs launcher and worker"),
        (
            {**MPI_ROLES, "roles": {"worker": {}, "launcher": {"command": "x", "count": 2}}},
            "roles.launcher.count",
            "expected 1, got 2: the command runs on one node",
        ),
        ({**MPI_ROLES, "roles": {"worker": {}, "launcher": {}}}, "roles.launcher.command", "this field is required"),
        (
            {**MPI_ROLES, "roles": {"worker": {"command": "x"}, "launcher": {"command": "x"}}},
            "roles.worker.command",
            "expected none: only the launcher has a command",
        ),
        (
            {"command": "x", "nodes": 2, "success": "worker-2"},
            "success",
            "expected one of worker (0 to 1), got 'worker-2'",
        ),
        ({"command": "x", "success": "ps"}, "success", "expected one of worker (0 to 0), got 'ps'"),
    ],
)
def test_roles_that_do_not_go_with_the_mode_are_refused(values: dict[str, Any], place: str, told: str) -> None:
    with pytest.raises(InvalidSpec) as refused:
        check(parse_job({"name": "a", **values}))
    assert refused.value.fields[place].startswith(told)
