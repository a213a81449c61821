"""Split buckets into pieces and fuse small buckets. Only sizes decide, so that all ranks split in the same way."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.futures import Future


@dataclass(eq=False)
class Bucket:
    """One of DDP's gradient buckets in progress; `done` is set when its last piece is finished."""

    index: int
    buffer: Tensor
    is_last: bool
    done: Future[Tensor]
    parameters: tuple[int, ...] = ()
    """Identities of the parameters in the bucket; set only if the format carries errors over."""
    is_sum: bool = False
    """Whether the result is the sum over all ranks instead of their average."""
    num_pieces_open: int = 0
    is_cut: bool = False
    handed_over_at: float = field(default_factory=time.perf_counter)

    def spoil(self) -> None:
        """Complete with NaN instead of an average, so that a failure cannot go unnoticed."""
        if self.is_dense:
            self.buffer.fill_(float("nan"))
        self.done.set_result(self.buffer)

    @property
    def is_dense(self) -> bool:
        return not self.buffer.is_sparse and self.buffer.is_floating_point()


@dataclass(eq=False)
class Segment:
    """A part of a bucket that is sent in one piece."""

    bucket: Bucket
    start: int
    values: Tensor


@dataclass(eq=False)
class Piece:
    """Data that is sent together: parts of one or more buckets of the same dtype."""

    segments: list[Segment]
    numel: int = 0

    @property
    def dtype(self) -> torch.dtype:
        return self.segments[0].values.dtype

    @property
    def is_dense(self) -> bool:
        return self.segments[0].bucket.is_dense

    @property
    def key(self) -> tuple[tuple[int, int, int], ...]:
        """Identifies the same gradients in the next step, as long as the buckets do not change."""
        return tuple((part.bucket.index, part.start, part.values.numel()) for part in self.segments)


class Cutter:
    """Splits and fuses the stream of buckets into pieces. With `piece_bytes` None every bucket is one piece."""

    def __init__(self, piece_bytes: int | None, fusion_bytes: int) -> None:
        self.piece_bytes = piece_bytes
        self.fusion_bytes = fusion_bytes
        self._open: Piece | None = None

    def cut(self, bucket: Bucket) -> list[Piece]:
        """Return the pieces that are complete after `bucket` was added.

        A rest smaller than `fusion_bytes` waits for the next bucket, but not after the last bucket.
        """
        ready: list[Piece] = []
        if not bucket.is_dense or self.piece_bytes is None:
            ready += [*self._close(), _whole(bucket)]
        else:
            if self._open is not None and self._open.dtype != bucket.buffer.dtype:
                ready += self._close()
            ready += self._fill(bucket, self.piece_bytes)
        bucket.is_cut = True
        waiting = 0 if self._open is None else self._open.numel * self._open.segments[0].values.element_size()
        if bucket.is_last or waiting >= self.fusion_bytes:
            ready += self._close()
        return ready

    def _fill(self, bucket: Bucket, piece_bytes: int) -> list[Piece]:
        room_in_piece = piece_bytes // bucket.buffer.element_size()
        full: list[Piece] = []
        start = 0
        while start < bucket.buffer.numel():
            piece = self._open = self._open or Piece([])
            values = bucket.buffer[start : start + room_in_piece - piece.numel]
            piece.segments.append(Segment(bucket, start, values))
            piece.numel += values.numel()
            bucket.num_pieces_open += 1
            start += values.numel()
            if piece.numel == room_in_piece:
                full += self._close()
        return full

    def _close(self) -> list[Piece]:
        piece, self._open = self._open, None
        return [] if piece is None else [piece]


def _whole(bucket: Bucket) -> Piece:
    bucket.num_pieces_open += 1
    return Piece([Segment(bucket, 0, bucket.buffer)], bucket.buffer.numel())
