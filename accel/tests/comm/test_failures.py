"""Ranks that die or hang, and wrong use."""

from __future__ import annotations

import pytest

from danlu.testing.waiting import HANG_SECONDS


@pytest.fixture(scope="module")
def said(run_ranks):
    answers = run_ranks("wrong_use", "aa")
    assert all("error" not in answer for answer in answers), answers
    return answers


class TestLostRank:
    @pytest.mark.parametrize("hosts", ["aabb", "abc"])
    def test_killed_rank_raises_on_all_others_at_once(self, run_ranks, hosts):
        answers = run_ranks("lost_rank", hosts, who=1, how="killed", timeout_seconds=100 * HANG_SECONDS)
        assert answers[1] == {}
        for answer in answers[:1] + answers[2:]:
            assert len(answer["raised"]) == 2, answer

    def test_message_names_the_rank_that_died(self, run_ranks):
        answers = run_ranks("lost_rank", "aabb", who=1, how="killed", timeout_seconds=100 * HANG_SECONDS)
        assert "rank 1 on this host died" in answers[0]["raised"][0]
        assert any("rank 1" in answer["raised"][0] for answer in answers[2:])

    def test_rank_that_hangs_raises_on_all_others_within_the_timeout(self, run_ranks):
        answers = run_ranks("lost_rank", "aabb", who=3, how="stopped", timeout_seconds=6, stuck=3)
        for answer in answers[:3]:
            assert len(answer["raised"]) == 2, answer
            assert answer["seconds"][0] > 5
            assert answer["seconds"][1] < 5, "the second try waited again"


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
