"""What a user may choose about the exchange, checked where it is declared."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Literal, get_args

Algorithm = Literal["auto", "2d", "leader", "flat"]
WireFormat = Literal["exact", "bf16", "fp16", "int8", "topk"]
CARRYING: frozenset[WireFormat] = frozenset({"int8", "topk"})
"""Formats that carry what they lost into the next step."""

MIB = 1 << 20
PAGE = 4096
TIMEOUT_SECONDS = 1800.0  # torch's own: a rank may well evaluate for ten minutes while the others wait


@dataclass(frozen=True)
class Options:
    """The finer choices; the defaults suit hosts of one to eight ranks."""

    piece_bytes: int = MIB
    """Gradients travel in pieces of this size, so that copying one overlaps sending another."""

    fusion_bytes: int = MIB
    """Buckets smaller than this travel together."""

    depth: int = 4
    """How many pieces may be under way at once; each costs (ranks per host + 1) × piece_bytes of shared memory."""

    local_size: int | None = None
    """Take every `local_size` consecutive ranks for one host instead of finding out."""

    host_key: str | None = None
    """Name of the host this rank is on, instead of finding out; equal names must share memory."""

    shared_memory_dir: str | None = None
    """Folder (a tmpfs) the shared memory comes from; None takes anonymous memory that no folder limits."""

    auto_steps: int = 4
    """With `auto`, how many steps each algorithm is measured for; the first one of each is not counted."""

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
    """All choices of one attachment; the same on every rank except for the host's key."""

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
