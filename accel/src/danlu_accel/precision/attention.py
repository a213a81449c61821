"""Attention in bf16 for CPUs on which torch's own kernel is slower in bf16 than in float32.

On a CPU without AMX, the small products of torch's fused attention do not use the bf16 instructions; batched products
do. Scores are float32 in between, as in the fused kernel, so the error is the same. It needs memory for the
probabilities, so very long sequences use torch's kernel.
"""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor
from torch.autograd.function import FunctionCtx, once_differentiable

from danlu_accel.precision.devices import read_cpu_flags

MAX_SCORES = 1 << 26
"""Limit of the probabilities kept for the backward pass of one call: 128 MiB of bf16."""

_wanted: ContextVar[bool] = ContextVar("danlu_batched_attention", default=False)


def pays(dtype: torch.dtype | None, device_type: str, cpu_flags: set[str] | None = None) -> bool:
    """Whether batched products are faster for attention of this type on this machine."""
    flags = read_cpu_flags() if cpu_flags is None else cpu_flags
    has_slow_one = "avx512_bf16" in flags and not any("amx" in flag for flag in flags)
    return device_type == "cpu" and dtype == torch.bfloat16 and has_slow_one


@contextlib.contextmanager
def batched_attention() -> Iterator[None]:
    """Context in which `scaled_dot_product_attention` uses batched products under autocast on a CPU."""
    _install()
    token = _wanted.set(True)
    try:
        yield
    finally:
        _wanted.reset(token)


@functools.cache
def _install() -> torch.library.Library:
    """Register our kernel with autocast. Outside of `batched_attention` it calls torch's."""
    library = torch.library.Library("aten", "IMPL")  # type: ignore[no-untyped-call]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # warns that a kernel is replaced, which is intended
        library.impl("scaled_dot_product_attention", _attention, "AutocastCPU")  # type: ignore[no-untyped-call]
    return library


def _attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    dtype = torch.get_autocast_dtype("cpu")
    query, key, value = (_lower(tensor, dtype) for tensor in (query, key, value))
    with torch.autocast("cpu", enabled=False):
        if _wanted.get() and dropout_p == 0 and not enable_gqa and _fits(query, key, value):
            mask = _causal(query, key) if is_causal else attn_mask
            scale = query.shape[-1] ** -0.5 if scale is None else scale
            return _Batched.apply(query, key, value, mask, scale)  # type: ignore[no-any-return, no-untyped-call]
        mask = None if attn_mask is None else _lower(attn_mask, dtype)
        return torch.nn.functional.scaled_dot_product_attention(
            query, key, value, mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
        )


def _lower(tensor: Tensor, dtype: torch.dtype) -> Tensor:
    return tensor.to(dtype) if tensor.is_floating_point() and tensor.dtype != torch.float64 else tensor


def _fits(query: Tensor, key: Tensor, value: Tensor) -> bool:
    tensors = (query, key, value)
    return (
        torch.is_grad_enabled()
        and any(tensor.requires_grad for tensor in tensors)
        and all(tensor.dtype == torch.bfloat16 and tensor.dim() == 4 for tensor in tensors)
        and not any(isinstance(tensor, FakeTensor) for tensor in tensors)  # let a compiler use its own kernel
        and query.shape[:2] == key.shape[:2] == value.shape[:2]
        and query.shape[:3].numel() * key.shape[2] <= MAX_SCORES
    )


def _causal(query: Tensor, key: Tensor) -> Tensor:
    return torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool).tril()


class _Batched(torch.autograd.Function):
    """softmax(query @ keyᵀ · scale + mask) @ value, and its gradient."""

    @staticmethod
    def forward(
        ctx: FunctionCtx, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scale: float
    ) -> Tensor:
        flat = [tensor.flatten(0, 1) for tensor in (query, key, value)]
        scores = torch.bmm(flat[0].float(), flat[1].float().transpose(1, 2)).mul_(scale)
        if mask is not None:
            by_head = scores.view(*query.shape[:2], *scores.shape[1:])
            if mask.dtype == torch.bool:
                by_head.masked_fill_(~mask, float("-inf"))
            else:
                by_head.add_(mask)
        shares = torch.softmax(scores, -1).to(query.dtype)
        ctx.save_for_backward(*flat, shares)
        ctx.scale, ctx.heads = scale, query.shape[:2]  # type: ignore[attr-defined]
        return torch.bmm(shares, flat[2]).view(*query.shape[:3], -1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        query, key, value, shares = ctx.saved_tensors
        grad = grad.flatten(0, 1)
        of_value = torch.bmm(shares.transpose(1, 2), grad)
        of_shares = torch.bmm(grad, value.transpose(1, 2))
        of_scores = torch._softmax_backward_data(of_shares, shares, -1, shares.dtype).mul_(ctx.scale)
        of_query, of_key = torch.bmm(of_scores, key), torch.bmm(of_scores.transpose(1, 2), query)
        return *(found.view(*ctx.heads, *found.shape[1:]) for found in (of_query, of_key, of_value)), None, None
