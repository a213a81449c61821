"""What `attach` returns: the state behind the hook."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Engine:
    """The running parts of an attachment of more than one rank."""

    pipeline: Pipeline
    local: LocalGroup | None
    auto: Auto | None


class Attachment:
    """What `attach` returns: explains its choices, counts, and can be closed."""

    def __init__(self, settings: Settings, topology: Topology, reasons: Sequence[str], engine: Engine | None) -> None:
        self.settings = settings
        self.topology = topology
        self._reasons = (*topology.reasons, *reasons)
        self._engine = engine

    def explain(self) -> str:
        """Say what was chosen and why, one line per choice."""
        lines = [*self._reasons]
        if self._engine is not None and self._engine.auto is not None:
            lines.append(f"algorithm: {self._engine.auto.decision}")
        return "\n".join(lines)

    def stats(self) -> list[StepStats]:
        """Return what the last steps cost, oldest first; at most 1000 are kept."""
        return [] if self._engine is None else list(self._engine.pipeline.steps)

    def close(self) -> None:
        """Stop exchanging: call it on every rank after the last backward. A later backward raises CommError."""
        if self._engine is None:
            return
        self._engine.pipeline.close()
        if self._engine.local is not None:
            self._engine.local.close()

    def exchange(self, bucket: GradBucket) -> Future[Tensor]:
        """Start to average a bucket over all ranks; the future holds the result."""
        promise: Future[Tensor] = Future()
        if self._engine is None:
            promise.set_result(bucket.buffer())
            return promise
        parameters = tuple(map(id, bucket.parameters())) if self.settings.wire == "int8" else ()
        self._engine.pipeline.put(Bucket(bucket.index(), bucket.buffer(), bucket.is_last(), promise, parameters))
        # DDP understands an exception only when a callback raises it.
        return promise.then(Future.value)
