"""Real ranks for tests: processes that talk gloo over loopback."""

from __future__ import annotations

import json
import multiprocessing
import os
import runpy
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from danlu.testing.ports import free_port
from danlu.testing.waiting import HANG_SECONDS

HERE = Path(__file__).parent
RunRanks = Callable[..., list[dict[str, Any]]]
PRELOADED = (
    "danlu_accel.comm",
    "torch.distributed.algorithms.ddp_comm_hooks.default_hooks",
    "torch.nn.parallel",
    "torch.distributed.fsdp",
    # what the first optimizer and the first compiled model import; it takes as long as torch itself
    "torch._dynamo.backends.debugging",
    "torch._inductor.compile_fx",
)


@pytest.fixture(scope="session")
def rank_processes() -> multiprocessing.context.ForkServerContext:
    """Importing torch takes seconds; one server imports it and every rank is forked from there."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(PRELOADED))
    return context


@pytest.fixture(scope="session")
def run_ranks(
    rank_processes: multiprocessing.context.ForkServerContext, tmp_path_factory: pytest.TempPathFactory
) -> RunRanks:
    """Return `run(case, hosts, ...)`: runs a function of cases.py or failure_cases.py on one rank per entry of `hosts`.

    Ranks with the same entry share a host. The answers come in rank order; a rank that was killed answers {}.
    The rank `stuck` is expected not to end by itself.
    """

    def run(case: str, hosts: Sequence[str], stuck: int | None = None, **arguments: object) -> list[dict[str, Any]]:
        folder = tmp_path_factory.mktemp(case)
        port = free_port()
        ranks = []
        for rank, host in enumerate(hosts):
            environment = {
                "RANK": str(rank),
                "WORLD_SIZE": str(len(hosts)),
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": str(port),
                "OMP_NUM_THREADS": "1",
                "TEST_HOST_KEY": host,
            }
            request = {"case": case, "arguments": arguments, "answer": str(folder / f"{rank}.json")}
            given = {"ENVIRONMENT": environment, "REQUEST": request}
            ranks.append(
                rank_processes.Process(
                    target=runpy.run_path,
                    args=(str(HERE / "rank_main.py"),),
                    kwargs={"init_globals": given},
                    daemon=True,
                )
            )
        for process in ranks:
            process.start()
        _join(ranks, time.monotonic() + HANG_SECONDS, stuck)
        return [_answer(folder / f"{rank}.json") for rank in range(len(hosts))]

    return run


def _join(ranks: Sequence[multiprocessing.context.ForkServerProcess], deadline: float, stuck: int | None) -> None:
    awaited = [process for rank, process in enumerate(ranks) if rank != stuck]
    for process in awaited:
        process.join(max(0.1, deadline - time.monotonic()))
    late = [str(ranks.index(process)) for process in awaited if process.is_alive()]
    for process in ranks:
        process.kill()
        process.join()
    assert not late, f"ranks {', '.join(late)} did not end in time"


def _answer(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text()) if path.exists() else {}


@pytest.fixture(autouse=True)
def nothing_left_in_shared_memory() -> Any:
    before = set(os.listdir("/dev/shm"))
    yield
    left = {name for name in set(os.listdir("/dev/shm")) - before if "danlu" in name or name.startswith("torch_")}
    assert not left
