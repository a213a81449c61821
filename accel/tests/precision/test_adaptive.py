"""The right type for the device, and a policy at work."""

from __future__ import annotations

import multiprocessing
import runpy
from pathlib import Path

import pytest
import torch
from torch import nn

from danlu.testing.ports import free_port
from danlu_accel.precision import AdaptivePrecision, TimeWindow, choose_dtype, read_cpu_flags, restart_scale


class TestChooseDtype:
    @pytest.mark.parametrize("flag", ["amx_bf16", "avx512_bf16", "bf16"])
    def test_cpu_with_bf16_instructions_uses_bf16(self, flag):
        assert choose_dtype("cpu", [flag]).dtype == torch.bfloat16

    def test_cpu_without_stays_in_float32_and_says_why(self):
        chosen = choose_dtype("cpu", ["avx2"])
        assert chosen.dtype is None
        assert "no bf16 instructions" in chosen.reason

    def test_flags_are_read_from_the_kernel(self, tmp_path):
        (tmp_path / "cpuinfo").write_text("processor\t: 0\nflags\t\t: fpu avx512_bf16 amx_tile\n")
        assert read_cpu_flags(str(tmp_path / "cpuinfo")) == {"fpu", "avx512_bf16", "amx_tile"}
        assert read_cpu_flags(str(tmp_path / "none")) == set()


class TestAdaptivePrecision:
    def test_fp16_convolutions_on_a_cpu_are_refused(self):
        with pytest.raises(ValueError, match="300 times"):
            AdaptivePrecision(TimeWindow(0), nn.Sequential(nn.Conv2d(1, 1, 1)), dtype=torch.float16)

    def test_epochs_run_in_what_the_policy_says_and_are_recorded(self):
        model = nn.Linear(4, 2)
        precision = AdaptivePrecision(TimeWindow(1, 2), model, dtype=torch.bfloat16)
        seen = []
        for epoch in range(4):
            precision.begin_epoch(epoch)
            with precision.autocast():
                seen.append(model(torch.ones(1, 4)).dtype)
        assert seen == [torch.float32, torch.bfloat16, torch.bfloat16, torch.float32]
        assert [entry.dtype for entry in precision.record] == ["float32", "bfloat16", "bfloat16", "float32"]
        assert precision.share_low == 0.5

    def test_bf16_needs_no_scaler_and_fp16_has_one(self):
        model = nn.Linear(4, 2)
        assert not AdaptivePrecision(TimeWindow(0), model, dtype=torch.bfloat16).scaler.is_enabled()
        assert AdaptivePrecision(TimeWindow(0), model, dtype=torch.float16).scaler.is_enabled()

    def test_training_goes_on_from_saved_state(self):
        model = nn.Linear(4, 2)
        first, second = (AdaptivePrecision(TimeWindow(1), model, dtype=torch.float16) for _ in range(2))
        first.begin_epoch(0)
        second.load_state_dict(first.state_dict())
        assert second.record == first.record

    @pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
    def test_low_precision_learns_what_float32_learns(self, dtype):
        losses = [fit(TimeWindow(100), dtype), fit(TimeWindow(0), dtype)]
        assert losses[1] == pytest.approx(losses[0], rel=0.05)

    def test_scale_starts_again_when_low_precision_does(self):
        scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
        restart_scale(scaler, 8.0)
        weight = nn.Parameter(torch.ones(1))
        scaler.scale(weight.sum())
        scaler.update(new_scale=64.0)
        restart_scale(scaler, 8.0)
        assert scaler.get_scale() == 8.0


def fit(policy, dtype):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    precision = AdaptivePrecision(policy, model, dtype=dtype)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    inputs = torch.randn(64, 8)
    targets = inputs.sum(1, keepdim=True)
    for epoch in range(30):
        precision.begin_epoch(epoch)
        optimizer.zero_grad()
        with precision.autocast():
            loss = (model(inputs).float() - targets).square().mean()
        precision.backward(loss, optimizer)
    return loss.item()


RANK = """
import os, sys, torch.distributed as dist
from danlu_accel.precision import LossAware, mean_over_ranks
from pathlib import Path
dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{PORT}", rank=RANK, world_size=2)
policy = LossAware(2, 2)
losses = [1.0, [0.9, 0.1][RANK], [0.6, 0.4][RANK], [float("nan"), 0.3][RANK]]
answers = [policy.enabled(epoch + 1, None, mean_over_ranks(loss)) for epoch, loss in enumerate(losses)]
Path(ANSWER).write_text(repr(answers))
dist.barrier()
os._exit(0)
"""


def test_ranks_with_different_losses_get_the_same_answers(tmp_path: Path):
    script = tmp_path / "rank.py"
    script.write_text(RANK)
    port = free_port()
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["torch", "torch.distributed", "danlu_accel.precision"])
    ranks = []
    for rank in range(2):
        given = {"PORT": port, "RANK": rank, "ANSWER": str(tmp_path / f"{rank}.txt")}
        ranks.append(context.Process(target=runpy.run_path, args=(str(script),), kwargs={"init_globals": given}))
        ranks[-1].start()
    for process in ranks:
        process.join()
    answers = [(tmp_path / f"{rank}.txt").read_text() for rank in range(2)]
    assert answers == ["[False, True, True, False]"] * 2
