"""Number formats on the link between hosts.

A format packs a float tensor for sending and restores it on arrival. Both sides use only restored values, also for
their own numbers, so that every replica adds up the same numbers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor

from danlu_accel.comm.settings import WireFormat

TOPK_SHARE = 100  # one number in this many is sent
BLOCK = 512  # numbers per int8 scale: 0.8 % extra bytes


class Format(ABC):
    """A number format. Stateless; rounding errors are kept in the caller's `residual`."""

    name: WireFormat
    feeds_error_back = False
    """Whether `pack` uses a residual: the rounding error of one step is added in the next one."""

    @abstractmethod
    def packed(self, numel: int, dtype: torch.dtype) -> tuple[int, torch.dtype]:
        """Return number and type of the elements that `numel` numbers of `dtype` are packed into."""

    @abstractmethod
    def pack(self, values: Tensor, out: Tensor, residual: Tensor | None) -> Tensor:
        """Return the packed numbers, in `out` or `values` itself; `values` then holds the restored numbers."""

    @abstractmethod
    def restore(self, packed: Tensor, out: Tensor) -> None:
        """Write the received numbers to `out`."""

    def add(self, packed: Tensor, total: Tensor) -> None:
        """Add the received numbers to `total`."""
        arrived = torch.empty_like(total)
        self.restore(packed, arrived)
        total.add_(arrived)


class Exact(Format):
    """The numbers unchanged; sent without a copy."""

    name = "exact"

    def packed(self, numel: int, dtype: torch.dtype) -> tuple[int, torch.dtype]:
        return numel, dtype

    def pack(self, values: Tensor, out: Tensor, residual: Tensor | None) -> Tensor:  # noqa: ARG002
        return values

    def restore(self, packed: Tensor, out: Tensor) -> None:
        out.copy_(packed)

    def add(self, packed: Tensor, total: Tensor) -> None:
        total.add_(packed)


class HalfWidth(Format):
    """bf16 or fp16: half the bytes, rounded once per hop."""

    def __init__(self, name: WireFormat, dtype: torch.dtype) -> None:
        self.name = name
        self.dtype = dtype

    def packed(self, numel: int, dtype: torch.dtype) -> tuple[int, torch.dtype]:  # noqa: ARG002
        return numel, self.dtype

    def pack(self, values: Tensor, out: Tensor, residual: Tensor | None) -> Tensor:  # noqa: ARG002
        out.copy_(values)
        values.copy_(out)
        return out

    def restore(self, packed: Tensor, out: Tensor) -> None:
        out.copy_(packed)


class Int8(Format):
    """One byte per number and one scale per block; the rounding error is carried into the next step.

    Packed: the int8 numbers, padded to whole blocks, then the float32 scales. An infinite or NaN gradient makes its
    block NaN on every rank, so that a gradient scaler detects the overflow; it is not carried over.
    """

    name = "int8"
    feeds_error_back = True

    def packed(self, numel: int, dtype: torch.dtype) -> tuple[int, torch.dtype]:  # noqa: ARG002
        return _num_blocks(numel) * (BLOCK + 4), torch.uint8

    def pack(self, values: Tensor, out: Tensor, residual: Tensor | None) -> Tensor:
        numel = values.numel()
        wanted = torch.zeros(_num_blocks(numel) * BLOCK, dtype=torch.float32)
        if residual is None:
            wanted[:numel].copy_(values)
        else:
            torch.add(values, residual, out=wanted[:numel])
        blocks = wanted.view(-1, BLOCK)
        numbers, scales = _parts(out)
        torch.linalg.vector_norm(blocks, ord=float("inf"), dim=1, out=scales)
        scales.div_(127).clamp_min_(torch.finfo(torch.float32).tiny)
        rounded = blocks.div(scales.unsqueeze(1)).round_()
        numbers.copy_(rounded)
        restored = rounded.mul_(scales.unsqueeze(1)).view(-1)[:numel]
        values.copy_(restored)
        if residual is not None:
            torch.sub(wanted[:numel], restored, out=residual)
            if not bool(torch.isfinite(scales).all()):
                residual.nan_to_num_(0.0, 0.0, 0.0)
        return out

    def restore(self, packed: Tensor, out: Tensor) -> None:
        numbers, scales = _parts(packed)
        out.copy_(numbers.to(torch.float32).mul_(scales.unsqueeze(1)).view(-1)[: out.numel()])


class TopK(Format):
    """The largest hundredth of the numbers and their positions; the others stay in the residual until they are large.

    Packed: the int32 positions, then the float32 numbers. An infinite or NaN gradient counts as the largest, so
    that every rank sees it; it is not carried over.
    """

    name = "topk"
    feeds_error_back = True

    def packed(self, numel: int, dtype: torch.dtype) -> tuple[int, torch.dtype]:  # noqa: ARG002
        return -(-numel // TOPK_SHARE) * 8, torch.uint8

    def pack(self, values: Tensor, out: Tensor, residual: Tensor | None) -> Tensor:
        wanted = values.to(torch.float32) if residual is None else residual.add_(values)
        places, numbers = _places_and_numbers(out)
        chosen = wanted.abs().topk(places.numel(), sorted=False).indices
        places.copy_(chosen)
        torch.index_select(wanted, 0, chosen, out=numbers)
        values.zero_().index_copy_(0, chosen, numbers.to(values.dtype))
        if residual is not None:
            residual.index_fill_(0, chosen, 0.0)
            if not bool(torch.isfinite(numbers).all()):
                residual.nan_to_num_(0.0, 0.0, 0.0)
        return out

    def restore(self, packed: Tensor, out: Tensor) -> None:
        places, numbers = _places_and_numbers(packed)
        out.zero_().index_copy_(0, places.to(torch.int64), numbers.to(out.dtype))

    def add(self, packed: Tensor, total: Tensor) -> None:
        places, numbers = _places_and_numbers(packed)
        total.index_add_(0, places.to(torch.int64), numbers.to(total.dtype))


FORMATS: dict[WireFormat, Format] = {
    "exact": Exact(),
    "bf16": HalfWidth("bf16", torch.bfloat16),
    "fp16": HalfWidth("fp16", torch.float16),
    "int8": Int8(),
    "topk": TopK(),
}


def format_for(name: WireFormat, dtype: torch.dtype) -> Format:
    """Return the requested format, or `exact` for gradients that are already narrower than float32."""
    return FORMATS[name] if dtype in (torch.float32, torch.float64) else FORMATS["exact"]


def _places_and_numbers(packed: Tensor) -> tuple[Tensor, Tensor]:
    half = packed.numel() // 2
    return packed[:half].view(torch.int32), packed[half:].view(torch.float32)


def _num_blocks(numel: int) -> int:
    return -(-numel // BLOCK)


def _parts(packed: Tensor) -> tuple[Tensor, Tensor]:
    num_blocks = packed.numel() // (BLOCK + 4)
    numbers = packed[: num_blocks * BLOCK].view(torch.int8).view(num_blocks, BLOCK)
    return numbers, packed[num_blocks * BLOCK :].view(torch.float32)
