"""Sum up the results that the ranks stored below train_url, by AIS-Bench's rules. Every rank must have one."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import mean
from typing import Callable, NamedTuple

Read = Callable[[str], str]
"""Returns the content of a file below train_url. Raises FileNotFoundError."""


class MissingResult(Exception):
    """A rank stored no result, or one that is not a number."""


class Result(NamedTuple):
    throughput: float
    accuracy: float
    num_ranks: int
    lines: list[str]
    """In AIS-Bench's output format."""


def normal(read: Read, *, num_ranks: int) -> Result:
    """Throughput is the sum over all ranks."""
    values = [_number(read, f"throughput_{rank}.json", f"rank {rank}") for rank in range(num_ranks)]
    accuracy = _number(read, "accuracy.json", "rank 0")
    lines = [f"rankid:{rank} read throughput:{value}" for rank, value in enumerate(values)]
    lines += [f"report result total_throughput : {sum(values)}", f"report result accuracy:{accuracy}"]
    return Result(sum(values), accuracy, num_ranks, lines)


def single_servers(read: Read, *, num_servers: int, per_server: int) -> Result:
    """Single-server mode: the sum over the devices of each server, then the mean over servers."""
    lines: list[str] = []
    sums, accuracies = [], []
    for server in range(num_servers):
        values = list(_of_server(read, server, per_server))
        lines += [f"rankid:{rank} read throughput:{value}" for rank, value in enumerate(values)]
        lines.append(f"serverid:{server} count:{num_servers} service_throughput:{sum(values)}")
        sums.append(sum(values))
        accuracies.append(_accuracy(read, server))
    lines.append(f"report >> throughput_list:{sums} average:{mean(sums)}")
    lines.append(f"report >> accuracy_list:{accuracies} average:{mean(accuracies)}")
    return Result(mean(sums), mean(accuracies), num_servers * per_server, lines)


def _of_server(read: Read, server: int, per_server: int) -> Iterator[float]:
    for rank in range(per_server):
        yield _number(read, f"{server}/throughput_{rank}.json", f"server {server}, rank {rank}")


def _accuracy(read: Read, server: int) -> float:
    """Read the accuracy of a server: beside the folders of the servers, or in its own folder."""
    name = f"accuracy_{server}.json"
    try:
        return _number(read, name, f"server {server}")
    except MissingResult:
        return _number(read, f"{server}/{name}", f"server {server}")


def _number(read: Read, name: str, who: str) -> float:
    try:
        text = read(name)
    except FileNotFoundError as error:
        raise MissingResult(f"{who} left no {name}") from error
    try:
        return float(text)
    except ValueError as error:
        raise MissingResult(f"{who}: {name}: expected a number, got {text[:40]!r}") from error
