"""A GPU and NCCL for machines that have neither: streams that notice races, collectives that keep NCCL's rules.

Both are fakes at the outermost edge, what `danlu_accel.comm.nccl` asks torch for. Numbers are computed at once on the
CPU, and collectives are gloo's between real processes; what is checked is when a GPU would be allowed to compute them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import torch.distributed as dist
from torch import Tensor
from torch.futures import Future
from torch.utils._python_dispatch import TorchDispatchMode

BACKEND = "fake_nccl"


class Stream:
    """Knows how far each stream is certain to have come when its own next operation begins."""

    def __init__(self, name: str, *, forgets_to_wait: bool = False) -> None:
        self.name = name
        self.clock: dict[str, int] = {name: 0}
        self._forgets_to_wait = forgets_to_wait

    def wait_stream(self, other: Stream) -> None:
        if not self._forgets_to_wait:
            for name, time in other.clock.items():
                self.clock[name] = max(time, self.clock.get(name, 0))

    def has_seen(self, name: str, time: int) -> bool:
        return self.clock.get(name, 0) >= time


@dataclass
class Memory:
    """Who touched it: the last to write, and everybody who has read it since, by stream and time."""

    keep: Any
    written: tuple[str, int] | None = None
    read: dict[str, int] = field(default_factory=dict)


class Promise(Future[Tensor]):
    """A future that remembers the stream it was set on, as those of a GPU do."""

    device: Gpu
    made_on: Stream

    def set_result(self, result: Tensor) -> None:
        self.made_on = self.device.current_stream()
        super().set_result(result)


class Gpu:
    """What `danlu_accel.comm.nccl.Device` asks for."""

    def __init__(self, *, forgets_to_wait: bool = False) -> None:
        self.main = Stream("main")
        self.races: list[str] = []
        self._forgets_to_wait = forgets_to_wait
        self._current = [self.main]
        self._num_streams = 0
        self._memory: dict[int, Memory] = {}

    def new_stream(self) -> Stream:
        self._num_streams += 1
        return Stream(f"side {self._num_streams - 1}", forgets_to_wait=self._forgets_to_wait)

    def current_stream(self) -> Stream:
        return self._current[-1]

    @contextlib.contextmanager
    def use(self, stream: Stream) -> Iterator[None]:
        self._current.append(stream)
        yield
        self._current.pop()

    def new_future(self, like: Tensor) -> Promise:  # noqa: ARG002
        promise = Promise()
        promise.device = self
        return promise

    def touch(self, tensor: Tensor, *, writes: bool, what: str) -> None:
        """Note an access of the current stream, and whether it may run beside an earlier one of another stream."""
        storage = tensor.untyped_storage()
        memory = self._memory.setdefault(storage.data_ptr(), Memory(storage))
        stream = self.current_stream()
        earlier = [] if memory.written is None else [memory.written]
        if writes:
            earlier += memory.read.items()
        self.races += [
            f"{what} on {stream.name} beside {name}" for name, at in earlier if not stream.has_seen(name, at)
        ]
        stream.clock[stream.name] += 1
        if writes:
            memory.written, memory.read = (stream.name, stream.clock[stream.name]), {}
        else:
            memory.read[stream.name] = stream.clock[stream.name]


class Watch(TorchDispatchMode):
    """Tells the GPU what every operation of torch reads and writes."""

    def __init__(self, gpu: Gpu) -> None:
        super().__init__()
        self._gpu = gpu

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = function(*args, **kwargs)
        if function.is_view:
            return result
        named = zip(function._schema.arguments, args)
        given = [*named, *((each, kwargs[each.name]) for each in function._schema.arguments if each.name in kwargs)]
        for argument, value in given:
            if isinstance(value, Tensor):
                writes = argument.alias_info is not None and argument.alias_info.is_write
                self._gpu.touch(value, writes=writes, what=str(function))
        if isinstance(result, Tensor) and function._schema.returns[0].alias_info is None:
            self._gpu.touch(result, writes=True, what=str(function))
        return result


class FakeNccl(dist.ProcessGroup):
    """Refuses what NCCL would refuse, writes down the rest."""

    gpu: Gpu
    log: list[tuple[str, str, int, int, str]]
    """Stream, collective, numbers in, numbers out, type."""

    def __init__(self, store: dist.Store, rank: int, size: int, timeout: timedelta) -> None:
        super().__init__(rank, size)
        self._gloo = dist.ProcessGroupGloo(store, rank, size, timeout)

    def getBackendName(self) -> str:  # noqa: N802 - torch's
        return BACKEND

    def allreduce(self, tensors: Sequence[Tensor], options: Any = None) -> Any:  # noqa: ARG002
        (tensor,) = tensors
        self._note("allreduce", tensor, tensor)
        return self._gloo.allreduce([tensor])

    def reduce_scatter_single(self, output: Tensor, given: Tensor, options: Any = None) -> Any:  # noqa: ARG002
        assert given.numel() == output.numel() * self.size(), "input must be output size times the world's"
        self._note("reduce_scatter", given, output)
        total = given.clone()
        self._gloo.allreduce([total]).wait()
        output.copy_(total.view(self.size(), -1)[self.rank()])
        return self._done()

    def all_gather_single(self, output: Tensor, given: Tensor, options: Any = None) -> Any:  # noqa: ARG002
        assert output.numel() == given.numel() * self.size(), "output must be input size times the world's"
        self._note("all_gather", given, output)
        return self._gloo.allgather([list(output.view(self.size(), -1).unbind())], [given])

    _reduce_scatter_base = reduce_scatter_single  # their names before torch 2.13
    _allgather_base = all_gather_single

    def _note(self, what: str, given: Tensor, output: Tensor) -> None:
        assert given.is_contiguous(), "tensors must be contiguous"
        assert output.is_contiguous(), "tensors must be contiguous"
        assert given.dtype == output.dtype, "tensors must have identical type"
        self.gpu.touch(given, writes=False, what=what)
        self.gpu.touch(output, writes=True, what=what)
        where = self.gpu.current_stream().name
        self.log.append((where, what, given.numel(), output.numel(), str(given.dtype)))

    def _done(self) -> Any:
        return self._gloo.barrier()


def install(gpu: Gpu) -> None:
    """Let `new_group` make groups of this backend."""
    FakeNccl.gpu = gpu
    FakeNccl.log = []
    dist.Backend.register_backend(BACKEND, FakeNccl, devices=["cuda"])
