"""Costs of one step of gradient exchange."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class StepStats:
    """One exchanged backward pass, as measured by this rank."""

    step: int
    algorithm: str
    wire: str
    num_buckets: int
    num_pieces: int
    gradient_bytes: int
    bytes_inside: int
    """Bytes that this rank copied to and from its host's shared memory (flat: sent to a rank of the same host)."""
    bytes_between: int
    """Bytes of gradients that this rank sent to other hosts, without protocol headers."""
    seconds: float
    """From the first bucket to the last result."""
    exposed_seconds: float
    """From the last bucket to the last result: the part that backward did not hide."""


@dataclass
class StepCounter:
    """Counts one step while it runs."""

    num_buckets: int = 0
    num_pieces: int = 0
    gradient_bytes: int = 0
    bytes_inside: int = 0
    bytes_between: int = 0
    first_at: float = 0.0
    last_at: float = 0.0

    def finished(self, step: int, algorithm: str, wire: str, now: float) -> StepStats:
        return StepStats(
            step=step,
            algorithm=algorithm,
            wire=wire,
            num_buckets=self.num_buckets,
            num_pieces=self.num_pieces,
            gradient_bytes=self.gradient_bytes,
            bytes_inside=self.bytes_inside,
            bytes_between=self.bytes_between,
            seconds=now - self.first_at,
            exposed_seconds=now - self.last_at,
        )
