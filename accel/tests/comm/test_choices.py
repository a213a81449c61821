"""`auto`, `explain` and `stats`."""

from __future__ import annotations

import pytest

MIB = 1 << 20


@pytest.fixture(scope="module")
def answers(run_ranks):
    found = run_ranks("automatic", "aabb")
    assert all("error" not in answer for answer in found), found
    return found


class TestAuto:
    def test_all_ranks_take_what_rank_0_decided(self, answers):
        assert len({tuple(answer["algorithms"]) for answer in answers}) == 1
        assert len({answer["print"] for answer in answers}) == 1

    def test_every_candidate_is_tried_and_one_is_kept(self, answers):
        algorithms = answers[0]["algorithms"]
        assert algorithms[:7] == ["2d", "2d", "2d", "leader", "leader", "flat", "flat"]
        assert len(set(algorithms[7:])) == 1

    def test_decision_is_explained_with_what_was_measured(self, answers):
        assert "decided by rank 0 after measuring" in answers[2]["explain"]
        assert "ms" in answers[2]["explain"]

    def test_flat_is_no_candidate_when_a_lossy_wire_was_asked_for(self, run_ranks):
        assert set(run_ranks("automatic", "aabb", wire="bf16")[0]["algorithms"]) <= {"2d", "leader"}


def test_stats_count_what_was_sent(run_ranks):
    for answer in run_ranks("counted", "aabb"):
        assert answer["gradient_bytes"] == MIB
        assert answer["bytes_between"] == MIB // 2
        assert answer["bytes_inside"] == 2 * MIB
        assert answer["algorithm"] == "2d"
        assert answer["num_buckets"] == 1
        assert 0 < answer["exposed_seconds"] <= answer["seconds"]


def test_uneven_hosts_are_explained(run_ranks):
    explained = run_ranks("exactness", "aaab", algorithms=["2d"], variants=["plain"])[0]["2d/plain"]["explain"]
    assert "2 with 3, 1 ranks" in explained
    assert "1 lanes: the smallest host has as many ranks" in explained


def test_launcher_that_says_otherwise_is_warned_about_and_not_trusted(run_ranks):
    answers = run_ranks("different_launcher_word", "aa")
    assert "torchrun says 7 ranks share the host of rank 0, 2 do" in answers[0]["warnings"][0]
    assert answers[1]["warnings"] == []
    assert "1 with 2 ranks" in answers[1]["explain"]
