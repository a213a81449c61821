"""Formats that round: how much, equally everywhere, and what error feedback makes up for."""

from __future__ import annotations

import pytest

LARGEST_ERROR = {"bf16": 2**-8, "fp16": 2**-11, "int8": 2 / 127}
WIRE_SHARE = {"bf16": 0.5, "fp16": 0.5, "int8": 0.26}


@pytest.fixture(scope="module", params=["aabb", "abc"])
def answers(request, run_ranks):
    found = run_ranks("lossy", request.param, wires=list(LARGEST_ERROR), steps=3)
    assert all("error" not in answer for answer in found), found
    return found


@pytest.mark.parametrize("wire", LARGEST_ERROR)
class TestRounding:
    def test_is_the_same_on_all_ranks(self, answers, wire):
        assert all(answer[wire]["bit_equal"] for answer in answers)

    def test_is_bounded(self, answers, wire):
        assert all(answer[wire]["last_error"] <= 2 * LARGEST_ERROR[wire] for answer in answers)

    def test_saves_bytes(self, answers, wire):
        sent = sum(answer[wire]["bytes_between"] for answer in answers)
        num_hosts = {4: 2, 3: 3}[len(answers)]
        exact = 2 * (num_hosts - 1) * answers[0][wire]["gradient_bytes"]
        assert sent <= 1.1 * WIRE_SHARE[wire] * exact


@pytest.mark.parametrize("hosts", ["aabb", "abc"])
def test_error_feedback_makes_up_for_rounding_over_steps(run_ranks, hosts):
    found = run_ranks("lossy", hosts, wires=["int8"], steps=40)[0]["int8"]
    assert found["first_error"] > 1e-4
    assert found["mean_error"] < found["first_error"] / 10


@pytest.mark.parametrize("hosts", ["aabb", "abc"])
def test_topk_is_the_same_on_all_ranks_and_sends_two_hundredths_of_the_bytes(run_ranks, hosts):
    found = [answer["topk"] for answer in run_ranks("lossy", hosts, wires=["topk"], steps=3)]
    assert all(answer["bit_equal"] for answer in found)
    num_hosts = len(set(hosts))
    exact = 2 * (num_hosts - 1) * found[0]["gradient_bytes"]
    assert 0 < sum(answer["bytes_between"] for answer in found) <= 1.1 * 0.02 * exact


def test_overflow_reaches_every_rank_and_is_not_carried_over(run_ranks):
    expected = {wire: [True, False, True] for wire in ("bf16", "int8", "topk")}
    assert all(answer == expected for answer in run_ranks("non_finite", "aabb", wires=list(expected)))
