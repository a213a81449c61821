"""Attention of batched products is torch's attention: the same numbers, the same gradients, the same error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from danlu_accel.precision import AdaptivePrecision, TimeWindow
from danlu_accel.precision.attention import batched_attention, pays

attend = functional.scaled_dot_product_attention
CASES: dict[str, Callable[[], dict[str, Any]]] = {
    "plain": dict,
    "causal": lambda: {"is_causal": True},
    "scale": lambda: {"scale": 0.3},
    "a bool mask": lambda: {"attn_mask": torch.rand(3, 1, 10, 14) < 0.7},
    "a float mask": lambda: {"attn_mask": torch.randn(10, 14)},
}


def inputs() -> list[Tensor]:
    torch.manual_seed(0)
    shapes = ((3, 4, 10, 16), (3, 4, 14, 16), (3, 4, 14, 16))
    return [torch.randn(shape).bfloat16() for shape in shapes]


def run(options: dict[str, Any], *, dtype: torch.dtype = torch.bfloat16) -> list[Tensor]:
    """The answer and the three gradients, under bf16's autocast unless another type is asked for."""
    leaves = [tensor.to(dtype).requires_grad_() for tensor in inputs()]
    with torch.autocast("cpu", torch.bfloat16, enabled=dtype == torch.bfloat16):
        found = attend(*leaves, **options)
    torch.manual_seed(1)
    found.backward(torch.randn(found.shape).bfloat16().to(dtype))
    return [found.detach(), *(leaf.grad for leaf in leaves if leaf.grad is not None)]


def error(found: Tensor, exact: Tensor) -> float:
    return float((found.double() - exact.double()).norm() / exact.double().norm())


@pytest.mark.parametrize("case", CASES)
def test_it_is_as_exact_as_torch(case: str) -> None:
    torch.manual_seed(2)
    options = CASES[case]()
    mask = options.get("attn_mask")
    exact_mask = {"attn_mask": mask.double()} if mask is not None and mask.is_floating_point() else {}
    exact = run({**options, **exact_mask}, dtype=torch.float64)
    theirs = run(options)
    with batched_attention():
        ours = run(options)
    for name, found, fused, wanted in zip(("answer", "query", "key", "value"), ours, theirs, exact, strict=True):
        assert found.dtype == torch.bfloat16
        assert error(found, wanted) < max(2 * error(fused, wanted), 0.004), name
    assert not all(torch.equal(found, fused) for found, fused in zip(ours, theirs, strict=True)), "nothing was replaced"


def test_it_takes_its_rows_from_each_other_only_where_the_mask_allows() -> None:
    query, key, value = inputs()
    query.requires_grad_()
    changed = value.clone()
    changed[:, :, -1] = 100
    with torch.autocast("cpu", torch.bfloat16), batched_attention():
        first, second = (attend(query, key, each, is_causal=True) for each in (value, changed))
    assert torch.equal(first, second), "rows 0 to 9 must not see column 13"


@pytest.mark.parametrize("options", [{"dropout_p": 0.5}, {"enable_gqa": True}])
def test_what_it_cannot_do_is_torchs(options: dict[str, Any]) -> None:
    torch.manual_seed(3)
    theirs = run(options)
    torch.manual_seed(3)
    with batched_attention():
        ours = run(options)
    assert [each.shape for each in ours] == [each.shape for each in theirs]


def test_outside_of_it_attention_is_torchs_own() -> None:
    before = run({})
    with batched_attention():
        run({})
    assert all(torch.equal(after, each) for after, each in zip(run({}), before, strict=True))


def test_without_gradients_the_fused_one_is_kept() -> None:
    query, key, value = inputs()
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        theirs = attend(query, key, value)
        with batched_attention():
            assert torch.equal(attend(query, key, value), theirs)


@pytest.mark.parametrize(
    ("dtype", "device", "flags", "wanted"),
    [
        (torch.bfloat16, "cpu", {"avx512_bf16"}, True),
        (torch.bfloat16, "cpu", {"avx512_bf16", "amx_bf16"}, False),
        (torch.bfloat16, "cpu", {"bf16"}, False),
        (torch.bfloat16, "cuda", {"avx512_bf16"}, False),
        (None, "cpu", {"avx512_bf16"}, False),
    ],
)
def test_where_it_pays(dtype: torch.dtype | None, device: str, flags: set[str], wanted: bool) -> None:
    assert pays(dtype, device, flags) is wanted


def test_a_transformer_learns_the_same_with_it() -> None:
    """A few steps of a real layer: losses of bf16 with our attention stay at those of float32."""

    def losses(is_low: bool) -> list[float]:
        torch.manual_seed(0)
        model = nn.TransformerEncoderLayer(32, 2, 64, dropout=0.0, batch_first=True)
        batch, target = torch.randn(4, 12, 32), torch.randn(4, 12, 32)
        adaptive = AdaptivePrecision(TimeWindow(start=0 if is_low else 99), model, dtype=torch.bfloat16)
        adaptive.begin_epoch(0)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        found = []
        for _ in range(10):
            optimizer.zero_grad()
            with adaptive.autocast(), batched_attention():
                loss = functional.mse_loss(model(batch).float(), target)
            adaptive.backward(loss, optimizer)
            found.append(float(loss.detach()))
        return found

    assert losses(True) == pytest.approx(losses(False), rel=0.01)
