"""Ranks that die or hang, and wrong use."""

from __future__ import annotations

import pytest

from danlu.testing.waiting import HANG_SECONDS

NEVER = 100 * HANG_SECONDS
"""A time-out that no test waits for: who hears of a loss heard of it by itself."""


@pytest.fixture(scope="module")
def said(run_ranks):
    answers = run_ranks("wrong_use", "aa")
    assert all("error" not in answer for answer in answers), answers
    return answers


class TestLostRank:
    @pytest.mark.parametrize(
        ("hosts", "more"),
        [
            ("aabb", {}),
            ("abc", {}),
            ("aabb", {"algorithm": "leader"}),
            ("aabb", {"algorithm": "flat"}),
            ("aabb", {"algorithm": "auto"}),
        ],
    )
    def test_killed_rank_raises_on_all_others_at_once(self, run_ranks, hosts, more):
        answers = run_ranks("lost_rank", hosts, who=1, how="killed", timeout_seconds=NEVER, **more)
        assert answers[1] == {}
        for answer in answers[:1] + answers[2:]:
            assert [kind for kind, _ in answer["raised"]] == ["PeerLostError"] * 3, answer

    def test_first_failure_is_ours_where_ddp_exchanges_something_itself(self, run_ranks):
        answers = run_ranks("lost_rank", "aabb", who=1, how="killed", timeout_seconds=NEVER, find_unused=True)
        for answer in answers[:1] + answers[2:]:
            assert answer["raised"][0][0] == "PeerLostError", answer
            assert len(answer["raised"]) == 3

    def test_message_names_the_rank_that_died(self, run_ranks):
        answers = run_ranks("lost_rank", "aabb", who=1, how="killed", timeout_seconds=NEVER)
        assert answers[0]["raised"][0] == ["PeerLostError", "rank 1 on this host died"]
        assert any("rank 1" in answer["raised"][0][1] for answer in answers[2:])

    def test_rank_that_hangs_raises_on_all_others_within_the_timeout(self, run_ranks):
        answers = run_ranks("lost_rank", "aabb", who=3, how="stopped", timeout_seconds=6, stuck=3)
        for answer in answers[:3]:
            assert [kind for kind, _ in answer["raised"]] == ["PeerLostError"] * 3, answer
            assert answer["seconds"] > 5

    def test_gradients_that_were_not_averaged_are_nan(self, run_ranks):
        answers = run_ranks("lost_rank", "aabb", who=1, how="killed", timeout_seconds=NEVER)
        assert all(all(answer["spoilt"]) for answer in answers[:1] + answers[2:])


class TestWrongUse:
    @pytest.mark.parametrize(
        ("mistake", "message"),
        [
            ("unknown wire", "ValueError: no wire 'int4'; known: exact, bf16, fp16, int8"),
            ("unknown algorithm", "ValueError: no algorithm 'ring'; known: auto, 2d, leader, flat"),
            ("flat and lossy", "ValueError: wire 'bf16' needs algorithm 'auto', '2d' or 'leader'"),
            ("no streams", "ValueError: num_streams is 0; it must be at least 1"),
            ("odd piece", "ValueError: piece_bytes is 5000; it must be a multiple of 4096"),
            ("not ddp", "TypeError: attach takes a DistributedDataParallel model, not Linear"),
            ("little memory", "MiB of shared memory are needed, /dev/shm has"),
            ("no such folder", "SharedMemoryError: rank 0: cannot make shared memory in /no/such"),
            ("different settings", "TopologyError: rank 1 attached with"),
            ("attach twice", "AlreadyAttachedError: this model exchanges its gradients through danlu_accel already"),
            ("another hook", "AlreadyAttachedError: this model has another communication hook"),
            ("closed", "CommError: the exchange was closed"),
        ],
    )
    def test_mistake_is_named_on_every_rank(self, said, mistake, message):
        for answer in said:
            assert message in answer["messages"][mistake]

    def test_auto_falls_back_to_flat_and_says_why(self, said):
        assert "algorithm: flat, because rank 0: " in said[1]["fallback"]
