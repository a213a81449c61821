"""The handle that `attach` returns, and the engines behind it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import torch
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
    """Exchanges the buckets of an attachment."""

    @abstractmethod
    def exchange(self, bucket: GradBucket) -> Future[Tensor]:
        """Start to average a bucket over all ranks and return at once; the future holds the result.

        If that fails, `backward` raises a CommError and the gradients are NaN.
        """

    def decisions(self) -> Sequence[str]:
        """Decisions since the start, for `explain`."""
        return ()

    def stats(self) -> list[StepStats]:
        """Costs of the last steps, oldest first."""
        return []

    @abstractmethod
    def close(self) -> None:
        """Stop. Does nothing if already stopped."""


class NoEngine(Engine):
    """A single rank: every bucket is its own average."""

    def exchange(self, bucket: GradBucket) -> Future[Tensor]:
        promise: Future[Tensor] = Future()
        promise.set_result(bucket.buffer())
        return promise

    def close(self) -> None:
        """Nothing to stop."""


class ThreadEngine(Engine):
    """Ranks on CPUs: a separate thread drives gloo and shared memory."""

    def __init__(
        self,
        pipeline: Pipeline,
        local: LocalGroup | None,
        auto: Auto | None,
        *,
        feeds_error_back: bool,
        raises_early: bool,
    ) -> None:
        self.pipeline = pipeline
        self._local = local
        self._auto = auto
        self._feeds_error_back = feeds_error_back
        self._raises_early = raises_early

    def exchange(self, bucket: GradBucket) -> Future[Tensor]:
        promise: Future[Tensor] = Future()
        parameters = tuple(map(id, bucket.parameters())) if self._feeds_error_back else ()
        self.pipeline.put(Bucket(bucket.index(), bucket.buffer(), bucket.is_last(), promise, parameters))
        if torch._C._current_graph_task_id() < 0:  # DDP.join() calls without a backward pass and waits on its own
            return promise.then(self._checked)
        if bucket.is_last():
            _when_backward_ends(lambda: self._end_backward(promise))
        return promise

    def _checked(self, done: Future[Tensor]) -> Tensor:
        self.pipeline.raise_error()
        return done.value()

    def _end_backward(self, last: Future[Tensor]) -> None:
        """Make `backward` raise the error of a failed exchange.

        DDP turns exceptions of futures into plain RuntimeErrors, so futures never fail here. DDP queued its own end of
        backward after this callback; the error is raised after that, so that DDP is ready for another forward pass.
        With unused parameters DDP also communicates at its end, which fails if a rank is lost: then the error is raised
        before that.
        """
        if self._raises_early:
            last.wait()
            self.pipeline.raise_error()
        _when_backward_ends(self.pipeline.raise_error)

    def decisions(self) -> Sequence[str]:
        return () if self._auto is None else (f"algorithm: {self._auto.decision}",)

    def stats(self) -> list[StepStats]:
        return list(self.pipeline.steps)

    def close(self) -> None:
        self.pipeline.close()
        if self._local is not None:
            self._local.close()


def _when_backward_ends(callback: Callable[[], None]) -> None:
    """Have autograd call this at the end of the current backward pass; `backward` raises its exceptions."""
    torch.autograd.Variable._execution_engine.queue_callback(callback)


class Attachment:
    """Returned by `attach`: explains its choices, reports statistics, and can be closed."""

    def __init__(self, settings: Settings, topology: Topology, reasons: Sequence[str], engine: Engine) -> None:
        self.settings = settings
        self.topology = topology
        self.engine = engine
        self._reasons = (*topology.reasons, *reasons)

    def explain(self) -> str:
        """Describe the choices and their reasons, one line per choice."""
        return "\n".join([*self._reasons, *self.engine.decisions()])

    def stats(self) -> list[StepStats]:
        """Return the costs of the last steps, oldest first; at most 1000 are kept."""
        return self.engine.stats()

    def close(self) -> None:
        """Stop exchanging: call it on every rank after the last backward. A later backward raises CommError."""
        self.engine.close()
