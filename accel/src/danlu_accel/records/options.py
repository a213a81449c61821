"""Options of a RecordLoader, validated on creation."""

from __future__ import annotations

import os
from dataclasses import dataclass

from danlu_accel.records.files import Name
from danlu_accel.records.mixing import Mixing


@dataclass(frozen=True)
class LoaderOptions:
    """Options of a RecordLoader. Seed, ranks and mixing change the batches; the other options only change the speed."""

    seed: int = 0
    """Seed of the shuffle and the random crops."""

    rank: int = 0
    world_size: int = 1
    """This process loads the share of `rank` among `world_size` processes."""

    drop_last: bool = False
    """Drop the last batches of an epoch unless they are full on every rank."""

    mixing: Mixing | None = None
    """MixUp and CutMix of the images of a batch."""

    window_shards: int | None = None
    """0: shuffle all records. n: shuffle the shards, then the records within n shards at a time. None: 0, or 4 for
    shards behind a URL."""

    threads: int | None = None
    """Threads that make images; None: one per core."""

    prefetch: int = 2
    """Batches to prepare while the training loop works."""

    read_ahead: int | None = None
    """Threads that only read; None: chosen by the type of the file system."""

    channels_last: bool = False
    """Memory layout of the batch; its shape is N, C, H, W either way."""

    pin_memory: bool | None = None
    """None: pin if CUDA is available."""

    verify: bool = True
    """Verify the checksum of every record."""

    cache_dir: Name | None = None
    """Where shards from a URL are kept; None: in the user's cache folder."""

    cache_bytes: int | None = None
    """Size limit of the cache; the least recently used shards are removed. Shards in use, and the next few, are kept
    even beyond it. None: no limit."""

    def __post_init__(self) -> None:
        at_least("world_size", self.world_size, 1)
        if not 0 <= self.rank < self.world_size:
            raise ValueError(
                f"rank: expected 0 to {self.world_size - 1} for world_size {self.world_size}, got {self.rank}"
            )
        at_least("prefetch", self.prefetch, 1)
        for name, value, least in (
            ("threads", self.threads, 1),
            ("read_ahead", self.read_ahead, 0),
            ("window_shards", self.window_shards, 0),
            ("cache_bytes", self.cache_bytes, 0),
        ):
            if value is not None:
                at_least(name, value, least)


def num_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def wants_pinned(options: LoaderOptions) -> bool:
    """Whether batches use pinned memory."""
    if options.pin_memory is not None:
        return options.pin_memory
    try:
        import torch
    except ImportError:
        return False
    return bool(torch.cuda.is_available())


def at_least(name: str, value: int, least: int) -> None:
    if value < least:
        raise ValueError(f"{name}: expected at least {least}, got {value}")
