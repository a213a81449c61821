"""Models and gradients that are not the plain case, beside plain DDP."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize("case", ["two_models", "sparse_and_double", "uneven_inputs"])
def test_training_is_plain_ddps(run_ranks, case):
    for answer in run_ranks(case, "aabb"):
        assert "error" not in answer, answer["traceback"]
        assert answer["difference"] < 1e-6


def test_each_of_two_models_has_its_own_exchange(run_ranks):
    assert [answer["steps"] for answer in run_ranks("two_models", "aa")] == [[3, 3], [3, 3]]


def test_model_of_some_ranks_is_averaged_over_those(run_ranks):
    answers = run_ranks("part_of_the_job", "aabc")
    assert [answer.get("gradient") for answer in answers] == [1.5, 1.5, 3.5, 3.5], answers
    assert [answer["hosts"] for answer in answers] == [[[0, 1]], [[0, 1]], [[0], [1]], [[0], [1]]]


def test_gpu_path_averages_with_padding(run_ranks):
    for answer in run_ranks("nccl_arithmetic", "aabb"):
        assert answer["values"] == [2.5 * n for n in range(7)], answer
        assert answer["narrow"] == [2.5 * n for n in range(7)]
