"""Ranks that die or hang, and wrong use. Runs inside each rank: see rank_main."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from rank_tools import SMALL, Net, batch, host_options, train
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from torch.nn.parallel import DistributedDataParallel as DDP  # noqa: N817

from danlu.testing.waiting import HANG_SECONDS
from danlu_accel import comm


def lost_rank(
    who: int, how: str, timeout_seconds: float, algorithm: str = "2d", find_unused: bool = False
) -> dict[str, Any]:
    """Rank `who` dies or stops in the middle of a backward pass; the others say what they heard and how soon."""
    ddp = DDP(Net(unused=find_unused), **SMALL, find_unused_parameters=find_unused)
    attachment = comm.attach(
        ddp, algorithm=algorithm, timeout_seconds=timeout_seconds, options=host_options(piece_bytes=4096)
    )
    train(ddp, steps=3)
    if dist.get_rank() == who:
        # The first layer's gradient comes last: by then, other buckets are under way.
        number = signal.SIGKILL if how == "killed" else signal.SIGSTOP
        ddp.module.layers[0].weight.register_hook(lambda _grad: os.kill(os.getpid(), number))
    started = time.monotonic()
    raised: list[tuple[str, str]] = []
    for _ in range(3):  # the second try must not wait again
        ddp.zero_grad()
        try:
            ddp(batch(9, dist.get_rank())).square().mean().backward()
        except RuntimeError as error:
            raised.append((type(error).__name__, str(error)))
    seconds = time.monotonic() - started
    spoilt = [bool(parameter.grad.isnan().all()) for parameter in ddp.parameters() if parameter.grad is not None]
    attachment.close()
    return {"raised": raised, "seconds": seconds, "spoilt": spoilt}


def begins_again(who: int, store: str) -> dict[str, Any]:
    """Rank `who`, the last one, is killed in a backward pass; the others make a group without it and train on."""
    options = host_options(piece_bytes=4096)
    ddp = DDP(Net(), **SMALL)
    # a rank whose peer gave up, and lives, hears of it when the time is over
    attachment = comm.attach(ddp, algorithm="2d", timeout_seconds=HANG_SECONDS / 10, options=options)
    train(ddp, steps=2)
    rank = dist.get_rank()
    if rank == who:
        ddp.module.layers[0].weight.register_hook(lambda _grad: os.kill(os.getpid(), signal.SIGKILL))
    raised = ""
    try:
        train(ddp, steps=1)
    except RuntimeError as error:
        raised = type(error).__name__
    attachment.close()
    dist.destroy_process_group()
    dist.init_process_group("gloo", store=dist.FileStore(store, who), rank=rank, world_size=who)
    finals = []
    for is_ours in (False, True):
        torch.manual_seed(0)
        fresh = DDP(Net(), **SMALL)
        if is_ours:
            attachment = comm.attach(fresh, algorithm="2d", options=options)
        finals.append(train(fresh))
    dist.barrier()
    threads = [each.name for each in threading.enumerate()]
    return {
        "raised": raised,
        "hosts": [list(host) for host in attachment.topology.hosts],
        "is_equal": bool(torch.allclose(*finals, atol=1e-6)),
        "num_threads": threads.count("danlu-accel-comm"),
    }


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
