"""What can go wrong while gradients are exchanged."""

from __future__ import annotations


class CommError(RuntimeError):
    """Gradients could not be exchanged; the message says which rank and what to do."""


class PeerLostError(CommError):
    """Another rank died, gave up, or stayed silent for longer than the timeout."""


class AlreadyAttachedError(CommError):
    """A model takes one communication hook, once: this one has it already."""


class SharedMemoryError(CommError):
    """The memory that the ranks of one host share could not be had."""


class TopologyError(CommError):
    """The ranks do not agree on settings, or were said to share a host and do not."""
