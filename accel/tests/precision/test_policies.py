"""When to train in low precision."""

from __future__ import annotations

import json
import logging
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from danlu_accel.precision import LossAware, LrAware, TimeWindow


class TestTimeWindow:
    @pytest.mark.parametrize(("epoch", "answer"), [(9, False), (10, True), (1000, True), (1001, False)])
    def test_both_ends_are_inside(self, epoch, answer):
        assert TimeWindow(10, 1000).enabled(epoch) is answer

    def test_without_end_it_stays_on(self):
        assert TimeWindow(10).enabled(10**6)

    def test_end_before_start_is_refused(self):
        with pytest.raises(ValueError, match="end is 5, before start 10"):
            TimeWindow(10, 5)

    def test_broken_loss_means_full_precision_for_that_epoch_and_is_logged(self, caplog):
        policy = TimeWindow(0)
        with caplog.at_level(logging.WARNING, "danlu_accel.precision"):
            answers = [policy.enabled(0), policy.enabled(1, loss=math.nan), policy.enabled(2, loss=1.0)]
        assert answers == [True, False, True]
        assert "epoch 1: the loss before it was nan" in caplog.text


class TestLrAware:
    def test_needs_the_learning_rate(self):
        with pytest.raises(ValueError, match="needs the learning rate"):
            LrAware(0, hold=2).enabled(0)

    def test_steady_learning_rate_is_a_time_window(self):
        policy = LrAware(2, 4, hold=3)
        assert [policy.enabled(epoch, 0.1) for epoch in range(6)] == [False, False, True, True, True, False]

    @pytest.mark.parametrize(
        ("rates", "answers"),
        [
            ([1.0, 1.0, 0.5, 0.5, 0.5, 0.5], [True, True, False, False, False, True]),  # a fall to half
            ([1.0, 1.0, 1.2, 1.2, 1.2, 1.2], [True, True, False, False, False, True]),  # a rise
            ([1.0, 0.9, 0.8, 0.85, 0.9, 0.95], [True] * 6),  # slow changes are none
            ([1.0, 0.1, 0.1, 0.01, 0.01, 0.01, 0.01], [True, False, False, False, False, False, True]),  # starts anew
        ],
    )
    def test_jump_means_full_precision_for_the_hold(self, rates, answers):
        policy = LrAware(0, hold=3)
        assert [policy.enabled(epoch, lr) for epoch, lr in enumerate(rates)] == answers

    def test_jump_just_before_the_window_holds_into_it(self):
        policy = LrAware(2, hold=2)
        assert [policy.enabled(epoch, lr) for epoch, lr in enumerate([1.0, 0.1, 0.1, 0.1])] == [
            False,
            False,
            False,
            True,
        ]

    def test_broken_loss_counts_as_a_jump(self):
        policy = LrAware(0, hold=2)
        losses = [1.0, math.inf, 1.0, 1.0]
        assert [policy.enabled(epoch, 0.1, loss) for epoch, loss in enumerate(losses)] == [True, False, False, True]


class TestLossAware:
    def test_windows_begin_at_every_interval_but_the_first(self):
        policy = LossAware(10, 3)
        inside = [epoch for epoch in range(35) if policy.window_of(epoch) is not None]
        assert inside == [10, 11, 12, 20, 21, 22, 30, 31, 32]

    def test_seeds_numbers(self):
        policy = LossAware(1000, 100)
        answers = [policy.enabled(epoch, loss=1.0) for epoch in (998, 999, 1000, 1099, 1100)]
        assert answers == [False, False, True, True, False]

    @pytest.mark.parametrize(
        ("before", "now", "answer"),
        [(1.0, 0.9, True), (1.0, 0.4, False), (1.0, 1.2, False), (1.0, 1.0, True), (-1.0, -1.1, True)],
    )
    def test_loss_must_fall_neither_too_fast_nor_rise(self, before, now, answer):
        policy = LossAware(2, 2)
        policy.enabled(1, loss=before)
        assert policy.enabled(2, loss=now) is answer

    def test_broken_loss_ends_the_window(self):
        policy = LossAware(4, 4)
        answers = [policy.enabled(epoch, loss=math.nan if epoch == 5 else 1.0) for epoch in range(3, 10)]
        assert answers == [False, True, False, False, False, True, True]

    def test_outside_can_hold_the_last_answer(self):
        policy = LossAware(4, 2, outside="hold")
        assert [policy.enabled(epoch, loss=1.0) for epoch in range(3, 8)] == [False, True, True, True, True]

    def test_needs_the_loss_inside_a_window(self):
        with pytest.raises(ValueError, match="needs the loss"):
            LossAware(2, 2).enabled(2)


POLICIES = {
    "time": lambda: TimeWindow(3, 20),
    "lr": lambda: LrAware(2, hold=3),
    "loss": lambda: LossAware(4, 3, outside="hold"),
}
told = st.lists(st.tuples(st.sampled_from([0.1, 0.05, 0.01]), st.floats(allow_nan=True)), min_size=1, max_size=25)


@pytest.mark.parametrize("name", POLICIES)
class TestEveryPolicy:
    @given(told=told)
    def test_same_epoch_gets_the_same_answer(self, name, told):
        policy = POLICIES[name]()
        first = [policy.enabled(epoch, *each) for epoch, each in enumerate(told)]
        assert [policy.enabled(epoch, 9.9, 9.9) for epoch in range(len(told))] == first

    @given(told=told, cut=st.integers(0, 25))
    def test_training_that_resumes_gets_the_same_answers(self, name, told, cut):
        whole, first, second = (POLICIES[name]() for _ in range(3))
        expected = [whole.enabled(epoch, *each) for epoch, each in enumerate(told)]
        answers = [first.enabled(epoch, *each) for epoch, each in enumerate(told[:cut])]
        second.load_state_dict(json.loads(json.dumps(first.state_dict())))
        answers += [second.enabled(epoch, *told[epoch]) for epoch in range(len(answers), len(told))]
        assert answers == expected

    @given(told=told)
    def test_broken_loss_never_means_low_precision(self, name, told):
        policy = POLICIES[name]()
        for epoch, (lr, loss) in enumerate(told):
            assert not (policy.enabled(epoch, lr, loss) and not math.isfinite(loss))
