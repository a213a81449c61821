"""Exceptions of the gradient exchange."""

from __future__ import annotations


class CommError(RuntimeError):
    """Gradients could not be exchanged; the message says which rank failed and what to do."""


class PeerLostError(CommError):
    """Another rank died, failed, or did not respond within the timeout."""


class AlreadyAttachedError(CommError):
    """The model already has a communication hook; it takes only one."""


class SharedMemoryError(CommError):
    """Memory shared by the ranks of a host could not be allocated."""


class TopologyError(CommError):
    """The ranks have different settings, or do not share a host as configured."""
