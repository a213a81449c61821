"""What ranks do in tests. Runs inside each rank: see conftest.run_ranks."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import time
import traceback
import warnings
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from torch.nn.parallel import DistributedDataParallel as DDP  # noqa: N817

from danlu.testing.waiting import HANG_SECONDS
from danlu_accel import comm

ENVIRONMENT: dict[str, str] = globals().get("ENVIRONMENT", {})
REQUEST: dict[str, Any] = globals().get("REQUEST", {})


class Net(nn.Module):
    """Odd sizes on purpose: nothing divides by the number of ranks."""

    def __init__(self, unused: bool = False) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(13, 67), nn.Tanh(), nn.Linear(67, 41), nn.Tanh(), nn.Linear(41, 3))
        self.sometimes = nn.Linear(13, 3) if unused else None

    def forward(self, x: Tensor, use_all: bool = True) -> Tensor:
        y: Tensor = self.layers(x)
        if self.sometimes is not None and use_all:
            y = y + self.sometimes(x)
        return y


def host_options(**more: Any) -> comm.Options:
    return comm.Options(host_key=os.environ["TEST_HOST_KEY"], **more)


def batch(step: int, rank: int) -> Tensor:
    return torch.randn(5, 13, generator=torch.Generator().manual_seed(1000 * step + rank))


def fingerprint(model: nn.Module) -> str:
    digest = hashlib.sha256()
    for parameter in model.parameters():
        digest.update(parameter.detach().numpy().tobytes())
    return digest.hexdigest()


def train(
    ddp: nn.Module, *, steps: int = 4, micro: int = 1, use_all: Callable[[int, int], bool] = lambda *_: True
) -> Tensor:
    """Train and return all parameters as one vector."""
    rank = dist.get_rank()
    optimizer = torch.optim.SGD(ddp.parameters(), lr=0.05, momentum=0.9)
    for step in range(steps):
        optimizer.zero_grad()
        for part in range(micro):
            quiet = ddp.no_sync() if part < micro - 1 else contextlib.nullcontext()
            with quiet:
                args = (use_all(step, rank),) if isinstance(ddp.module, Net) else ()
                ddp(batch(step * micro + part, rank), *args).square().mean().backward()
        optimizer.step()
    return nn.utils.parameters_to_vector(ddp.parameters()).detach()


def against_native(
    build: Callable[[], nn.Module],
    ddp_kwargs: dict[str, Any],
    train_kwargs: dict[str, Any],
    attach_kwargs: dict[str, Any],
) -> dict[str, Any]:
    """Train twice from the same start, with plain DDP and with ours, and compare."""
    results = []
    attachment = None
    for ours in (False, True):
        torch.manual_seed(0)
        ddp = DDP(build(), **ddp_kwargs)
        if ours:
            attachment = comm.attach(ddp, options=host_options(piece_bytes=4096), **attach_kwargs)
        results.append(train(ddp, **train_kwargs))
        prints = [None] * dist.get_world_size()
        dist.all_gather_object(prints, fingerprint(ddp))
    native, own = results
    assert attachment is not None
    answer = {
        "difference": float(((native - own).abs() / native.abs().clamp_min(1e-3)).max()),
        "bit_equal": len(set(prints)) == 1,
        "explain": attachment.explain(),
        "algorithms": sorted({each.algorithm for each in attachment.stats()}),
        "steps": len(attachment.stats()),
    }
    attachment.close()
    return answer


SMALL = {"bucket_cap_mb": 0.01}  # several buckets even for a small model


def sometimes(step: int, rank: int) -> bool:
    return (step + rank) % 2 == 0


VARIANTS: dict[str, tuple[Callable[[], nn.Module], dict[str, Any], dict[str, Any]]] = {
    "plain": (Net, {}, {}),
    "many_buckets": (Net, SMALL, {}),
    "bucket_view": (Net, {**SMALL, "gradient_as_bucket_view": True}, {}),
    "no_sync": (Net, SMALL, {"micro": 3}),
    "static_graph": (Net, {**SMALL, "static_graph": True}, {}),
    "find_unused": (
        lambda: Net(unused=True),
        {**SMALL, "find_unused_parameters": True, "gradient_as_bucket_view": True},
        {"use_all": sometimes},
    ),
    "compiled": (lambda: torch.compile(Net().layers, backend="aot_eager"), {}, {}),
    "inductor": (lambda: torch.compile(Net().layers), {}, {}),
}


def exactness(algorithms: list[str], variants: list[str], num_streams: int = 1) -> dict[str, Any]:
    return {
        f"{algorithm}/{variant}": against_native(
            *VARIANTS[variant], {"algorithm": algorithm, "num_streams": num_streams}
        )
        for algorithm in algorithms
        for variant in variants
    }


def endurance(steps: int) -> dict[str, Any]:
    """Train for long, attach and close again and again; count what stays open."""
    torch.manual_seed(0)
    native = train(DDP(Net(), **SMALL), steps=steps)
    torch.manual_seed(0)
    ddp = DDP(Net(), **SMALL)
    attachment = comm.attach(ddp, algorithm="2d", options=host_options())
    descriptors = [len(os.listdir("/proc/self/fd"))]
    ours = train(ddp, steps=steps)
    descriptors.append(len(os.listdir("/proc/self/fd")))
    attachment.close()
    return {"descriptors": descriptors, "difference": float((native - ours).abs().max())}


def two_models() -> dict[str, Any]:
    """Two models of one process, each with its own exchange, trained in turns."""
    finals = []
    for ours in (False, True):
        torch.manual_seed(0)
        models = [DDP(Net(), **SMALL), DDP(nn.Linear(13, 7))]
        if ours:
            attachments = [comm.attach(model, algorithm="2d", options=host_options()) for model in models]
        optimizers = [torch.optim.SGD(model.parameters(), lr=0.1) for model in models]
        for step in range(3):
            losses = [model(batch(step, dist.get_rank())).square().mean() for model in models]
            for loss, optimizer in zip(losses, optimizers):
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
        finals.append(torch.cat([nn.utils.parameters_to_vector(model.parameters()).detach() for model in models]))
    return {"difference": float((finals[0] - finals[1]).abs().max()), "steps": [len(a.stats()) for a in attachments]}


def sparse_and_double() -> dict[str, Any]:
    """Sparse gradients take the plain way; float64 ones travel as they are."""

    class Mixed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Embedding(11, 5, sparse=True)
            self.linear = nn.Linear(5, 3).double()

        def forward(self, index: Tensor) -> Tensor:
            y: Tensor = self.linear(self.table(index).double())
            return y

    finals = []
    for ours in (False, True):
        torch.manual_seed(0)
        ddp = DDP(Mixed())
        if ours:
            comm.attach(ddp, algorithm="2d", options=host_options())
        optimizer = torch.optim.SGD(ddp.parameters(), lr=0.1)
        for step in range(3):
            optimizer.zero_grad()
            ddp(torch.tensor([step, dist.get_rank(), 7])).square().mean().backward()
            optimizer.step()
        finals.append(torch.cat([p.detach().double().flatten() for p in ddp.parameters()]))
    return {"difference": float((finals[0] - finals[1]).abs().max())}


def uneven_inputs() -> dict[str, Any]:
    """DDP's join(): ranks that run out of data take part with zeros."""
    finals = []
    for ours in (False, True):
        torch.manual_seed(0)
        ddp = DDP(Net(), **SMALL)
        if ours:
            comm.attach(ddp, algorithm="2d", options=host_options())
        optimizer = torch.optim.SGD(ddp.parameters(), lr=0.1)
        with ddp.join():
            for step in range(2 + dist.get_rank()):
                optimizer.zero_grad()
                ddp(batch(step, dist.get_rank())).square().mean().backward()
                optimizer.step()
        finals.append(nn.utils.parameters_to_vector(ddp.parameters()).detach())
    return {"difference": float((finals[0] - finals[1]).abs().max())}


def part_of_the_job() -> dict[str, Any]:
    """A model that only some ranks train: its process group is not everyone's."""
    half = dist.new_group([0, 1]), dist.new_group([2, 3])
    mine = half[dist.get_rank() // 2]
    ddp = DDP(nn.Linear(13, 3), process_group=mine)
    attachment = comm.attach(ddp, algorithm="2d", options=host_options())
    ddp(torch.full((1, 13), float(dist.get_rank() + 1))).sum().backward()
    grad = ddp.module.weight.grad
    assert grad is not None
    return {"hosts": attachment.topology.hosts, "gradient": float(grad[0, 0])}


def lossy(wires: list[str], steps: int) -> dict[str, Any]:
    return {wire: lossy_wire(wire, steps) for wire in wires}


def lossy_wire(wire: str, steps: int) -> dict[str, Any]:
    """The same gradient again and again: what one step rounds away, the next ones must make up for."""
    torch.manual_seed(0)
    ddp = DDP(nn.Linear(700, 90, bias=False), gradient_as_bucket_view=True)
    attachment = comm.attach(ddp, algorithm="2d", wire=wire, options=host_options())
    inputs = torch.randn(4, 700, generator=torch.Generator().manual_seed(dist.get_rank()))
    exact = torch.stack([inputs.mean(0)] * 90)
    dist.all_reduce(exact)
    exact.div_(dist.get_world_size())
    total = torch.zeros_like(exact)
    errors = []
    for _ in range(steps):
        ddp.zero_grad()
        (ddp(inputs).sum() / 4).backward()
        total += ddp.module.weight.grad
        errors.append(float((ddp.module.weight.grad - exact).abs().max() / exact.abs().max()))
    prints = [None] * dist.get_world_size()
    dist.all_gather_object(prints, hashlib.sha256(total.numpy().tobytes()).hexdigest())
    return {
        "bit_equal": len(set(prints)) == 1,
        "first_error": errors[0],
        "last_error": errors[-1],
        "mean_error": float((total / steps - exact).abs().max() / exact.abs().max()),
        "bytes_between": attachment.stats()[-1].bytes_between,
        "gradient_bytes": attachment.stats()[-1].gradient_bytes,
    }


def non_finite(wires: list[str]) -> dict[str, Any]:
    return {wire: non_finite_wire(wire) for wire in wires}


def non_finite_wire(wire: str) -> list[bool]:
    """One rank's gradient overflows once: every rank must see it, and the step after must be clean."""
    ddp = DDP(nn.Linear(600, 2, bias=False))
    comm.attach(ddp, algorithm="2d", wire=wire, options=host_options())
    finite = []
    for step in range(3):
        ddp.zero_grad()
        inputs = torch.ones(1, 600)
        if step == 1 and dist.get_rank() == 0:
            inputs[0, 3] = float("inf")
        ddp(inputs).sum().backward()
        finite.append(bool(torch.isfinite(ddp.module.weight.grad).all()))
    return finite


def automatic(wire: str = "exact") -> dict[str, Any]:
    """Train until `auto` has decided."""
    torch.manual_seed(0)
    ddp = DDP(Net(), **SMALL)
    attachment = comm.attach(ddp, wire=wire, options=host_options(auto_steps=2))
    train(ddp, steps=12)
    algorithms = [each.algorithm for each in attachment.stats()]
    return {"algorithms": algorithms, "explain": attachment.explain(), "print": fingerprint(ddp)}


def counted() -> dict[str, Any]:
    """One step of a model of known size."""
    ddp = DDP(nn.Linear(1024, 256, bias=False))  # 1 MiB
    attachment = comm.attach(ddp, algorithm="2d", options=host_options())
    for _ in range(2):
        ddp(torch.ones(1, 1024)).sum().backward()
    last = attachment.stats()[-1]
    return {name: getattr(last, name) for name in last.__dataclass_fields__}


def nccl_arithmetic() -> dict[str, Any]:
    """The GPU path's collectives, run by gloo."""
    from danlu_accel.comm.nccl import average_2d

    local = [dist.new_group([0, 1]), dist.new_group([2, 3])][dist.get_rank() // 2]
    lane = [dist.new_group([0, 2]), dist.new_group([1, 3])][dist.get_rank() % 2]
    values = torch.arange(7.0) * (dist.get_rank() + 1)
    average_2d(values, local, lane)
    narrow = torch.arange(7.0) * (dist.get_rank() + 1)
    average_2d(narrow, local, lane, torch.bfloat16)
    return {"values": values.tolist(), "narrow": narrow.tolist()}


def lost_rank(who: int, how: str, timeout_seconds: float) -> dict[str, Any]:
    """Rank `who` dies or stops in the middle of a backward pass; the others say what they heard and how soon."""
    ddp = DDP(Net(), **SMALL)
    attachment = comm.attach(
        ddp, algorithm="2d", timeout_seconds=timeout_seconds, options=host_options(piece_bytes=4096)
    )
    train(ddp, steps=3)
    if dist.get_rank() == who:
        # The first layer's gradient comes last: by then, other buckets are under way.
        number = signal.SIGKILL if how == "killed" else signal.SIGSTOP
        ddp.module.layers[0].weight.register_hook(lambda _grad: os.kill(os.getpid(), number))
    raised: list[str] = []
    seconds: list[float] = []
    for _ in range(2):  # the second try must not wait again
        started = time.monotonic()
        try:
            ddp(batch(9, dist.get_rank())).square().mean().backward()
        except RuntimeError as error:
            raised.append(str(error))
        seconds.append(time.monotonic() - started)
    attachment.close()
    return {"raised": raised, "seconds": seconds}


def wrong_use() -> dict[str, Any]:
    """Every mistake with the message it gets."""
    messages: dict[str, str] = {}

    def expect(name: str, call: Callable[[], object]) -> None:
        try:
            call()
        except (ValueError, TypeError, RuntimeError) as error:
            messages[name] = f"{type(error).__name__}: {error}"

    ddp = DDP(nn.Linear(3, 3))
    expect("unknown wire", lambda: comm.attach(ddp, wire="int4"))
    expect("unknown algorithm", lambda: comm.attach(ddp, algorithm="ring"))
    expect("flat and lossy", lambda: comm.attach(ddp, algorithm="flat", wire="bf16"))
    expect("no streams", lambda: comm.attach(ddp, num_streams=0))
    expect("odd piece", lambda: comm.Options(piece_bytes=5000))
    expect("not ddp", lambda: comm.attach(nn.Linear(3, 3)))
    size = os.statvfs("/dev/shm")
    too_much = size.f_blocks * size.f_frsize // 4096 * 4096
    small = host_options(shared_memory_dir="/dev/shm", piece_bytes=too_much)
    expect("little memory", lambda: comm.attach(ddp, algorithm="2d", options=small))
    nowhere = host_options(shared_memory_dir="/no/such")
    expect("no such folder", lambda: comm.attach(ddp, algorithm="2d", options=nowhere))
    streams = 1 + dist.get_rank()
    expect("different settings", lambda: comm.attach(ddp, num_streams=streams, options=host_options()))
    comm.attach(ddp, options=host_options())
    expect("attach twice", lambda: comm.attach(ddp, options=host_options()))
    other = DDP(nn.Linear(3, 3))
    other.register_comm_hook(None, allreduce_hook)
    expect("another hook", lambda: comm.attach(other, options=host_options()))
    closed = DDP(nn.Linear(3, 3))
    comm.attach(closed, algorithm="2d", options=host_options()).close()
    expect("closed", lambda: closed(torch.ones(1, 3)).sum().backward())
    fallback = comm.attach(DDP(nn.Linear(3, 3)), options=small)
    return {"messages": messages, "fallback": fallback.explain()}


def different_launcher_word() -> dict[str, Any]:
    """The launcher says something else than what is found."""
    os.environ.update(LOCAL_WORLD_SIZE="7", LOCAL_RANK=os.environ["RANK"])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        attachment = comm.attach(DDP(nn.Linear(3, 3)), options=host_options())
    return {"warnings": [str(each.message) for each in caught], "explain": attachment.explain()}


def main() -> None:
    os.environ.update(ENVIRONMENT)
    torch.set_num_threads(1)
    warnings.filterwarnings("error", module=r"danlu_accel")
    dist.init_process_group("gloo", timeout=timedelta(seconds=HANG_SECONDS))
    try:
        answer = globals()[REQUEST["case"]](**REQUEST["arguments"])
        if REQUEST["case"] != "lost_rank":
            dist.barrier()  # rank 0 keeps the store that the others still need
    except Exception as error:  # the test decides what it means
        answer = {"error": type(error).__name__, "message": str(error), "traceback": traceback.format_exc()}
    Path(REQUEST["answer"]).write_text(json.dumps(answer))
    os._exit(0)  # a rank whose peers were killed would wait for them at exit


if REQUEST:
    main()
