"""Ours beside plain DDP: the same training, whatever the placement of ranks and the way DDP is used."""

from __future__ import annotations

import pytest

PLACEMENTS = {
    "2x2": "aabb",
    "2x2 round-robin": "abab",
    "uneven": "aaab",
    "3 hosts": "abc",
    "3 hosts, uneven": "aabbc",
    "1 host": "aa",
    "1 rank": "a",
}
TOLERANCE = 2e-5  # float32 additions in another order, through four steps of momentum


@pytest.mark.parametrize("placement", ["2x2", "3 hosts, uneven"])
def test_every_way_to_use_ddp_gives_plain_ddps_training(run_ranks, placement):
    variants = ["plain", "many_buckets", "bucket_view", "no_sync", "static_graph", "find_unused", "compiled"]
    answers = run_ranks("exactness", PLACEMENTS[placement], algorithms=["2d"], variants=variants)
    check(answers)


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_every_algorithm_on_every_placement_gives_plain_ddps_training(run_ranks, placement):
    answers = run_ranks(
        "exactness", PLACEMENTS[placement], algorithms=["2d", "leader", "flat"], variants=["many_buckets"]
    )
    check(answers)


def test_several_streams_give_plain_ddps_training(run_ranks):
    check(run_ranks("exactness", "aabb", algorithms=["2d"], variants=["many_buckets"], num_streams=3))


def check(answers):
    for rank, answer in enumerate(answers):
        assert "error" not in answer, answer["traceback"]
        for name, result in answer.items():
            assert result["bit_equal"], (rank, name, result)
            assert result["difference"] < TOLERANCE, (rank, name, result)
