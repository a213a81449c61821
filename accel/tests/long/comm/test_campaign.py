"""Many placements, sizes and deaths: what the everyday suite samples, at length."""

from __future__ import annotations

import random

import pytest

from danlu.testing.waiting import HANG_SECONDS

pytestmark = pytest.mark.long


@pytest.mark.parametrize("seed", range(12))
def test_any_placement_trains_like_plain_ddp(run_ranks, seed):
    dice = random.Random(seed)
    hosts = "".join(dice.choice("abc") for _ in range(dice.randint(2, 7)))
    variants = dice.sample(["plain", "many_buckets", "bucket_view", "no_sync", "static_graph", "find_unused"], 3)
    answers = run_ranks(
        "exactness", hosts, algorithms=["2d", "leader"], variants=variants, num_streams=dice.randint(1, 3)
    )
    for answer in answers:
        assert "error" not in answer, (hosts, answer["traceback"])
        for name, result in answer.items():
            assert result["bit_equal"], (hosts, name)
            assert result["difference"] < 2e-5, (hosts, name)


@pytest.mark.parametrize("seed", range(6))
def test_any_rank_may_die(run_ranks, seed):
    dice = random.Random(100 + seed)
    hosts = "".join(dice.choice("ab") for _ in range(dice.randint(3, 6)))
    who = dice.randrange(1, len(hosts))  # rank 0 keeps the store of the whole job
    answers = run_ranks("lost_rank", hosts, who=who, how="killed", timeout_seconds=100 * HANG_SECONDS)
    for rank, answer in enumerate(answers):
        if rank != who:
            assert [kind for kind, _ in answer["raised"]] == ["PeerLostError"] * 3, (hosts, who, rank, answer)
            assert answer["seconds"] < 30


def test_module_compiled_by_inductor_trains_like_plain_ddp(run_ranks):
    for answer in run_ranks("exactness", "aabb", algorithms=["2d"], variants=["inductor"]):
        assert "error" not in answer, answer["traceback"]
        assert answer["2d/inductor"]["bit_equal"]
        assert answer["2d/inductor"]["difference"] < 2e-5


def test_thousand_steps_leave_no_thread_or_descriptor_behind(run_ranks):
    for answer in run_ranks("endurance", "aabb", steps=1000):
        assert "error" not in answer, answer["traceback"]
        assert answer["descriptors"][1] <= answer["descriptors"][0]
        assert answer["difference"] < 1e-3
