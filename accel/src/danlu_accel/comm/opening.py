"""Create a running exchange from settings: find the topology, check what is possible, choose."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TypeVar, cast

import torch.distributed as dist

from danlu_accel.comm.attachment import Attachment, NoEngine, ThreadEngine
from danlu_accel.comm.auto import Auto
from danlu_accel.comm.errors import CommError, SharedMemoryError
from danlu_accel.comm.exchange import Exchange, Flat, reaching_peers
from danlu_accel.comm.hop import Lane
from danlu_accel.comm.lanes import Arena, LaneExchange
from danlu_accel.comm.launcher import read_launch
from danlu_accel.comm.pipeline import Choose, Pipeline
from danlu_accel.comm.settings import CARRYING, Settings
from danlu_accel.comm.shared import Listener, LocalGroup, connect
from danlu_accel.comm.topology import RankReport, Topology, build_topology, find_host_key

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Inside:
    """Resources shared by the ranks of one host."""

    local: LocalGroup
    arena: Arena


def open_attachment(
    settings: Settings, global_ranks: Sequence[int], *, device_type: str = "cpu", raises_early: bool = False
) -> Attachment:
    """Find the topology, share memory and start the thread. Collective over `global_ranks`."""
    if len(global_ranks) == 1:
        alone = Topology(((0,),), 0, ("algorithm: none, one rank has nothing to exchange",))
        return Attachment(settings, alone, (), NoEngine())
    first = _new_group(global_ranks, settings)
    listener = Listener()
    try:
        reports = _ask_all(first, _report(settings, listener))
        topology = build_topology(reports, dist.get_rank(first), _local_size(settings))
        for reason in topology.reasons:
            if reason.startswith("warning: ") and topology.rank == 0:
                warnings.warn(reason, stacklevel=3)
        if device_type != "cpu":
            return _open_nccl(settings, topology, global_ranks)
        inside, problem = _share_inside(settings, topology, reports, listener)
    finally:
        listener.close()
    problems = [text for text in _ask_all(first, problem) if text]
    if problems and inside is not None:
        inside.local.close()
    if problems and (settings.algorithm in ("2d", "leader") or settings.wire != "exact"):
        raise SharedMemoryError(problems[0])
    more = [_new_group(global_ranks, settings) for _ in range(settings.num_streams - 1)]
    pipeline, auto, reasons = _start(settings, topology, (first, *more), None if problems else inside, problems)
    engine = ThreadEngine(
        pipeline,
        None if problems or inside is None else inside.local,
        auto,
        feeds_error_back=settings.wire in CARRYING,
        raises_early=raises_early,
    )
    return Attachment(settings, topology, reasons, engine)


def _start(
    settings: Settings,
    topology: Topology,
    groups: tuple[dist.ProcessGroup, ...],
    inside: Inside | None,
    problems: Sequence[str],
) -> tuple[Pipeline, Auto | None, list[str]]:
    """Start the thread; return it, the measuring chooser if any, and the reasons for what was chosen."""
    timeout = timedelta(seconds=settings.timeout_seconds)
    flat = Flat(topology, groups[0], timeout)
    reasons = [_why_wire(settings), f"streams: {len(groups)}, pieces of {settings.options.piece_bytes} bytes"]
    if inside is None:
        candidates: list[Exchange] = [flat]
        reasons.append(f"algorithm: flat, because {problems[0]}")
    else:
        candidates, reason = _candidates(settings, topology, groups, inside, flat)
        reasons.append(reason)
    pipeline = Pipeline(flat, settings)
    auto: Auto | None = None
    choose: Choose = _always(candidates[0])
    if len(candidates) > 1:
        choose = auto = Auto(candidates, settings.options.auto_steps, groups[0], pipeline.steps)
    pipeline.start(choose)
    return pipeline, auto, reasons


def _open_nccl(settings: Settings, topology: Topology, global_ranks: Sequence[int]) -> Attachment:
    from danlu_accel.comm.nccl import Cuda, open_engine

    def new_group(ranks: Sequence[int]) -> dist.ProcessGroup:
        return _new_group(ranks, settings, "nccl")

    engine = open_engine(settings, topology, global_ranks, new_group=new_group, device=Cuda())
    reasons = [_why_wire(settings), "algorithm: 2d with NCCL; not tested on hardware"]
    return Attachment(settings, topology, reasons, engine)


def _candidates(
    settings: Settings, topology: Topology, groups: tuple[dist.ProcessGroup, ...], inside: Inside, flat: Flat
) -> tuple[list[Exchange], str]:
    """Return the candidate algorithms and the reason for them."""

    def hierarchical(name: str, num_lanes: int) -> LaneExchange:
        lanes = _lanes(topology, num_lanes, groups, timedelta(seconds=settings.timeout_seconds))
        exchange = LaneExchange(
            name, topology, lanes=lanes, inside=inside.local, arena=inside.arena, options=settings.options
        )
        exchange.wire = settings.wire
        return exchange

    num_lanes = topology.num_lanes
    uneven = "" if topology.is_even else f", {num_lanes} lanes: the smallest host has as many ranks"
    if settings.algorithm == "flat":
        return [flat], "algorithm: flat, as asked"
    if settings.algorithm == "leader":
        return [hierarchical("leader", 1)], "algorithm: leader, as asked"
    if settings.algorithm == "2d":
        return [hierarchical("2d", num_lanes)], f"algorithm: 2d, as asked{uneven}"
    found: list[Exchange] = [hierarchical("2d", num_lanes)]
    if num_lanes > 1 and topology.num_hosts > 1:
        found.append(hierarchical("leader", 1))
    if settings.wire == "exact":
        found.append(flat)
    names = ", ".join(each.name for each in found)
    return found, f"candidates: {names}{uneven}; a lossy wire is never chosen, only taken when asked for"


def _lanes(topology: Topology, num_lanes: int, groups: tuple[dist.ProcessGroup, ...], timeout: timedelta) -> list[Lane]:
    return [
        Lane(tuple(host[index] for host in topology.hosts), topology.host_index, groups, timeout)
        for index in range(num_lanes)
    ]


def _share_inside(
    settings: Settings, topology: Topology, reports: Sequence[RankReport], listener: Listener
) -> tuple[Inside | None, str]:
    """Return the shared resources of this host, or the reason why there are none, which other ranks must get too."""
    if not hasattr(os, "memfd_create"):
        return None, "this system has no anonymous shared memory (memfd)"
    ranks = topology.local_ranks
    size = (settings.options.depth, len(ranks), settings.options.piece_bytes)
    try:
        addresses = [reports[rank].listener for rank in ranks]
        local = connect(listener, addresses, ranks, topology.local_index, settings.timeout_seconds)
        memory = local.share(Arena.num_bytes(*size), settings.options.shared_memory_dir)
    except CommError as error:
        return None, f"rank {topology.rank}: {error}"
    return Inside(local, Arena(memory, *size)), ""


def _report(settings: Settings, listener: Listener) -> RankReport:
    key = settings.options.host_key or find_host_key()
    shared = replace(settings, options=replace(settings.options, host_key=None))
    return RankReport(key, read_launch(os.environ), repr(shared), listener.address)


def _local_size(settings: Settings) -> int | None:
    if settings.options.local_size is not None or settings.options.host_key is not None:
        return settings.options.local_size
    text = os.environ.get("DANLU_LOCAL_SIZE")
    if text is None:
        return None
    if not text.isdigit() or int(text) < 1:
        raise ValueError(f"DANLU_LOCAL_SIZE is {text!r}; it must be a number above 0")
    return int(text)


def _new_group(global_ranks: Sequence[int], settings: Settings, backend: str = "gloo") -> dist.ProcessGroup:
    """Create a group with its own connections, separate from the traffic of the training script."""
    is_part = backend == "gloo" and len(global_ranks) < dist.get_world_size()
    group = dist.new_group(
        sorted(global_ranks),
        timeout=timedelta(seconds=settings.timeout_seconds),
        backend=backend,
        use_local_synchronization=is_part,
    )
    return cast(dist.ProcessGroup, group)


def _ask_all(group: dist.ProcessGroup, answer: Answer) -> list[Answer]:
    answers: list[Answer | None] = [None] * dist.get_world_size(group)
    with reaching_peers("meeting the other ranks"):
        dist.all_gather_object(answers, answer, group=group)
    return cast("list[Answer]", answers)


def _always(exchange: Exchange) -> Choose:
    return lambda _step: exchange


def _why_wire(settings: Settings) -> str:
    if settings.wire == "exact":
        return "wire: exact, the gradients' own type"
    carried = ", what is lost is carried into the next step" if settings.wire in CARRYING else ""
    return f"wire: {settings.wire} between hosts, as asked{carried}"
