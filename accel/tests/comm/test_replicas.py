"""FSDP2 with replicas: our exchange between them gives what `fully_shard` with the whole mesh gives."""

from __future__ import annotations

import pytest

EXACT = 1e-5
"""Relative, from another order of additions; three steps with momentum."""


@pytest.mark.parametrize(
    ("hosts", "shape", "more"),
    [
        ("aabb", [2, 2], {}),
        ("aabb", [2, 2], {"micro": 3}),
        ("aabb", [2, 2], {"algorithm": "auto"}),
        ("aabb", [4, 1], {}),
        ("abab", [2, 2], {}),
        ("aabbcc", [3, 2], {}),
    ],
)
def test_parameters_are_those_of_plain_fsdp(run_ranks, hosts, shape, more):
    for answer in run_ranks("replicas_against_native", hosts, shape=shape, **more):
        assert "error" not in answer, answer
        assert answer["difference"] <= EXACT
        assert answer["moved"] > 1e-3
        assert answer["bit_equal"]


def test_auto_measures_once_and_keeps_what_it_chose(run_ranks):
    for answer in run_ranks("replicas_against_native", "aabb", shape=[4, 1], algorithm="auto"):
        assert "decided by rank 0 after measuring" in answer["explain"]
        assert len(answer["algorithms"]) == 1


@pytest.mark.parametrize(("wire", "tolerance", "share"), [("bf16", 0.02, 0.5), ("int8", 0.1, 0.6)])
def test_lossy_wire_sends_less_and_keeps_replicas_equal(run_ranks, wire, tolerance, share):
    exact = run_ranks("replicas_against_native", "aabb", shape=[2, 2])
    lossy = run_ranks("replicas_against_native", "aabb", shape=[2, 2], wire=wire)
    for before, after in zip(exact, lossy):
        assert "error" not in after, after
        assert after["bit_equal"]
        assert after["difference"] <= tolerance
        assert 0 < after["sent"] <= share * before["sent"]


def test_mistakes_are_named(run_ranks):
    for said in run_ranks("replicas_wrong_use", "aabb"):
        assert said["not sharded"] == "TypeError: attach_replicas takes a model after fully_shard, got Net without it"
        assert said["whole mesh"].startswith("ValueError: fully_shard was given the whole mesh")
        assert said["two dimensions"].startswith("ValueError: replicas: expected one dimension of the mesh")
        assert "first" not in said
        assert said["twice"].startswith("AlreadyAttachedError: ")


def test_replica_of_a_killed_rank_raises(run_ranks):
    answers = run_ranks("replicas_lost_rank", "aabb")
    assert answers[2] == {}
    assert answers[0] == {"raised": "PeerLostError"}
