"""`MixedPrecision_TrainingPolicy` under its old names."""

from __future__ import annotations

import importlib
import json
import warnings

import pytest
import torch

from tiacc_training.torch.adaptfp16 import MixedPrecision_TrainingPolicy


@pytest.fixture
def scaler():
    return torch.amp.GradScaler("cpu")


def test_class_is_the_same_on_every_path():
    for path in ("tiacc_training.adaptfp16", "tiacc_training.calc", "tiacc_training.torch.adaptfp16"):
        assert importlib.import_module(path).MixedPrecision_TrainingPolicy is MixedPrecision_TrainingPolicy


class TestArguments:
    @pytest.mark.parametrize(
        "build",
        [
            lambda: MixedPrecision_TrainingPolicy(0, 10, None, 1000),
            lambda: MixedPrecision_TrainingPolicy(policy=0, start_time=10, end_time=1000),
            lambda: MixedPrecision_TrainingPolicy(policy="TimeSchedulePolicy", start_step=10, end_step=1000),
        ],
    )
    def test_both_spellings_and_positions_mean_the_same(self, build, scaler):
        policy = build()
        answers = [policy.enable_mixed_precision(epoch, scaler=scaler) for epoch in (9, 10, 1000, 1001)]
        assert answers == [False, True, True, False]

    def test_one_argument_by_two_names_is_refused(self):
        with pytest.raises(TypeError, match="'start_step' and 'start_time' are the same argument"):
            MixedPrecision_TrainingPolicy(0, start_time=1, start_step=2)
        with pytest.raises(TypeError, match="'start_time' and 'start_time' are the same argument"):
            MixedPrecision_TrainingPolicy(0, 1, start_time=2)

    @pytest.mark.parametrize(
        ("arguments", "meant"),
        [
            ((1, 10, 1000, 20), {"start_time": 10, "end_time": 1000, "hold_time": 20}),
            ((0, 10, 1000, 20), {"start_time": 10, "end_time": 1000}),
            ((1, None, 1000, 20), {"end_time": 1000, "hold_time": 20}),
            ((1, 10, 1000, 20, 1000, 100), {"start_time": 10, "end_time": 1000, "hold_time": 20}),
            ((0, 10, 12), {"start_time": 10, "end_time": 12}),
            ((0, 10, 12, None), {"start_time": 10, "end_time": 12}),
        ],
    )
    def test_the_order_of_the_table_is_taken_where_that_of_the_sample_makes_no_sense(self, arguments, meant, scaler):
        policies = MixedPrecision_TrainingPolicy(*arguments), MixedPrecision_TrainingPolicy(arguments[0], **meant)
        found = [
            [policy.enable_mixed_precision(epoch, 0.1, scaler=scaler) for epoch in (9, 10, 12, 13, 1000, 1001)]
            for policy in policies
        ]
        assert found[0] == found[1]

    def test_numbers_that_make_no_sense_in_either_order_are_refused(self):
        with pytest.raises(ValueError, match="expected start, hold, end or start, end, hold"):
            MixedPrecision_TrainingPolicy(1, 50, 20, 30)

    @pytest.mark.parametrize(
        "arguments", [(1, 10, 20, 1000), (0, 10, 20, 1000), (1, 0, 5, 5), (1, 10, 20), (2, 1, 9, 5)]
    )
    def test_the_order_of_the_sample_is_taken(self, arguments):
        MixedPrecision_TrainingPolicy(*arguments)

    def test_names_say_what_is_meant(self, scaler):
        policy = MixedPrecision_TrainingPolicy(1, 10, end_time=1000, hold_time=20)
        assert [policy.enable_mixed_precision(epoch, 0.1, scaler=scaler) for epoch in (9, 10, 1000)] == [
            False,
            True,
            True,
        ]

    def test_too_many_arguments_are_refused(self):
        with pytest.raises(TypeError, match="at most 6 arguments by position, got 7"):
            MixedPrecision_TrainingPolicy(0, 1, 2, 3, 4, 5, 6)

    def test_unknown_argument_is_named(self):
        with pytest.raises(TypeError, match="no argument 'begin'"):
            MixedPrecision_TrainingPolicy(0, begin=2)

    def test_policy_1_needs_its_hold(self):
        with pytest.raises(ValueError, match="needs hold_time"):
            MixedPrecision_TrainingPolicy(1, 0)

    @pytest.mark.parametrize("policy", [3, "LossPolicy"])
    def test_unknown_policy_is_named(self, policy):
        with pytest.raises(ValueError, match="no policy"):
            MixedPrecision_TrainingPolicy(policy)


class TestEnableMixedPrecision:
    def test_policy_1_holds_after_a_jump(self, scaler):
        policy = MixedPrecision_TrainingPolicy(1, 0, 2, 100)
        rates = [0.1, 0.01, 0.01, 0.01]
        answers = [policy.enable_mixed_precision(epoch, lr, scaler=scaler) for epoch, lr in enumerate(rates)]
        assert answers == [True, False, False, True]

    def test_policy_2_works_in_its_windows(self, scaler):
        policy = MixedPrecision_TrainingPolicy(2, test_interval=4, test_step=2)
        answers = [policy.enable_mixed_precision(epoch, 0.1, 1.0, scaler=scaler) for epoch in range(3, 8)]
        assert answers == [False, True, True, False, False]

    def test_scaler_is_required(self):
        with pytest.raises(TypeError, match="scaler is NoneType"):
            MixedPrecision_TrainingPolicy(0, 0).enable_mixed_precision(0)

    def test_cuda_scalers_are_accepted(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch says that the class is old and that there is no GPU
            scaler = torch.cuda.amp.GradScaler()
        assert MixedPrecision_TrainingPolicy(0, 0).enable_mixed_precision(0, 0.1, 1.0, scaler=scaler)

    def test_losses_may_be_tensors(self, scaler):
        policy = MixedPrecision_TrainingPolicy(2, interval_time=1, interval_hold_time=1)
        policy.enable_mixed_precision(0, 0.1, torch.tensor(1.0), scaler=scaler)
        assert policy.enable_mixed_precision(1, 0.1, torch.tensor(0.9), scaler=scaler)

    def test_scale_starts_again_with_mixed_precision(self):
        scaler = torch.amp.GradScaler("cpu", init_scale=16.0)
        policy = MixedPrecision_TrainingPolicy(0, 1)
        policy.enable_mixed_precision(0, scaler=scaler)
        scaler.scale(torch.ones(1))
        scaler.update(new_scale=1024.0)
        policy.enable_mixed_precision(1, scaler=scaler)
        assert scaler.get_scale() == 16.0

    def test_state_survives_json(self, scaler):
        first, second = (MixedPrecision_TrainingPolicy(1, 0, 3) for _ in range(2))
        for epoch, lr in enumerate([0.1, 0.01]):
            first.enable_mixed_precision(epoch, lr, scaler=scaler)
        second.load_state_dict(json.loads(json.dumps(first.state_dict())))
        assert [second.enable_mixed_precision(epoch, 0.01, scaler=scaler) for epoch in (2, 3, 4)] == [
            False,
            False,
            True,
        ]
