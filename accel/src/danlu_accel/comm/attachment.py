"""What `attach` returns, and what works behind it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from torch import Tensor
from torch._C._distributed_c10d import GradBucket
from torch.futures import Future

from danlu_accel.comm.auto import Auto
from danlu_accel.comm.pieces import Bucket
from danlu_accel.comm.pipeline import Pipeline
from danlu_accel.comm.settings import Settings
from danlu_accel.comm.shared import LocalGroup
from danlu_accel.comm.stats import StepStats
from danlu_accel.comm.topology import Topology


class Engine(ABC):
    """The running part of an attachment."""

    @abstractmethod
    def exchange(self, bucket: GradBucket) -> Future[Tensor]:
        """Start to average a bucket over all ranks and return at once; the future holds the result."""

    def decisions(self) -> Sequence[str]:
        """What was decided since the start, for `explain`."""
        return ()

    def stats(self) -> list[StepStats]:
        """What the last steps cost, oldest first."""
        return []

    @abstractmethod
    def close(self) -> None:
        """Stop. Quiet when already stopped."""


class NoEngine(Engine):
    """One rank: every bucket is its own average."""

    def exchange(self, bucket: GradBucket) -> Future[Tensor]:
        promise: Future[Tensor] = Future()
        promise.set_result(bucket.buffer())
        return promise

    def close(self) -> None:
        """Nothing to stop."""


class ThreadEngine(Engine):
    """Ranks on CPUs: a thread of our own drives gloo and shared memory."""

    def __init__(self, pipeline: Pipeline, local: LocalGroup | None, auto: Auto | None, feeds_error_back: bool) -> None:
        self.pipeline = pipeline
        self._local = local
        self._auto = auto
        self._feeds_error_back = feeds_error_back

    def exchange(self, bucket: GradBucket) -> Future[Tensor]:
        promise: Future[Tensor] = Future()
        parameters = tuple(map(id, bucket.parameters())) if self._feeds_error_back else ()
        self.pipeline.put(Bucket(bucket.index(), bucket.buffer(), bucket.is_last(), promise, parameters))
        # DDP understands an exception only when a callback raises it.
        return promise.then(Future.value)

    def decisions(self) -> Sequence[str]:
        return () if self._auto is None else (f"algorithm: {self._auto.decision}",)

    def stats(self) -> list[StepStats]:
        return list(self.pipeline.steps)

    def close(self) -> None:
        self.pipeline.close()
        if self._local is not None:
            self._local.close()


class Attachment:
    """What `attach` returns: explains its choices, counts, and can be closed."""

    def __init__(self, settings: Settings, topology: Topology, reasons: Sequence[str], engine: Engine) -> None:
        self.settings = settings
        self.topology = topology
        self.engine = engine
        self._reasons = (*topology.reasons, *reasons)

    def explain(self) -> str:
        """Say what was chosen and why, one line per choice."""
        return "\n".join([*self._reasons, *self.engine.decisions()])

    def stats(self) -> list[StepStats]:
        """Return what the last steps cost, oldest first; at most 1000 are kept."""
        return self.engine.stats()

    def close(self) -> None:
        """Stop exchanging: call it on every rank after the last backward. A later backward raises CommError."""
        self.engine.close()
