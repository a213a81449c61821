"""Settings of the exchange, validated on creation."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Literal, get_args

Algorithm = Literal["auto", "2d", "leader", "flat"]
WireFormat = Literal["exact", "bf16", "fp16", "int8", "topk"]
CARRYING: frozenset[WireFormat] = frozenset({"int8", "topk"})
"""Formats that carry their rounding errors into the next step."""

MIB = 1 << 20
PAGE = 4096
TIMEOUT_SECONDS = 1800.0  # torch's default: a rank may evaluate for ten minutes while the others wait


@dataclass(frozen=True)
class Options:
    """Options of the exchange; the defaults suit hosts of one to eight ranks."""

    piece_bytes: int = MIB
    """Size of the pieces that are sent; copying one overlaps with sending another."""

    fusion_bytes: int = MIB
    """Buckets smaller than this are fused."""

    depth: int = 4
    """Maximum number of pieces in progress; each takes (ranks per host + 1) × piece_bytes of shared memory."""

    local_size: int | None = None
    """Treat every `local_size` consecutive ranks as one host, instead of detecting hosts."""

    host_key: str | None = None
    """Name of this rank's host, instead of detecting it. Ranks with equal names must be able to share memory."""

    shared_memory_dir: str | None = None
    """Folder (on a tmpfs) for the shared memory; None: anonymous memory, which no tmpfs limits."""

    auto_steps: int = 4
    """With `auto`, the number of steps to measure each algorithm; the first step of each is not counted."""

    def __post_init__(self) -> None:
        _at_least("piece_bytes", self.piece_bytes, PAGE)
        if self.piece_bytes % PAGE:
            raise ValueError(f"piece_bytes is {self.piece_bytes}; it must be a multiple of {PAGE}")
        _at_least("fusion_bytes", self.fusion_bytes, 0)
        _at_least("depth", self.depth, 2)
        _at_least("auto_steps", self.auto_steps, 2)
        if self.local_size is not None:
            _at_least("local_size", self.local_size, 1)


@dataclass(frozen=True)
class Settings:
    """All settings of an attachment; the same on every rank except for `host_key`."""

    algorithm: Algorithm = "auto"
    wire: WireFormat = "exact"
    num_streams: int = 1
    timeout_seconds: float = TIMEOUT_SECONDS
    options: Options = field(default_factory=Options)

    def __post_init__(self) -> None:
        _one_of("algorithm", self.algorithm, get_args(Algorithm))
        _one_of("wire", self.wire, get_args(WireFormat))
        _at_least("num_streams", self.num_streams, 1)
        if not self.timeout_seconds > 0:
            raise ValueError(f"timeout_seconds is {self.timeout_seconds}; it must be above 0")
        if self.algorithm == "flat" and self.wire != "exact":
            raise ValueError(f"wire {self.wire!r} needs algorithm 'auto', '2d' or 'leader': 'flat' is always exact")


def _one_of(name: str, value: str, known: Collection[str]) -> None:
    if value not in known:
        raise ValueError(f"no {name} {value!r}; known: {', '.join(known)}")


def _at_least(name: str, value: int, least: int) -> None:
    if value < least:
        raise ValueError(f"{name} is {value}; it must be at least {least}")
