"""Results that the ranks of a job left in the store."""

from __future__ import annotations

import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Optional

from pydantic import BaseModel, ConfigDict, ValidationError

from danlu.client import Client, Job
from danlu.errors import NotFound

_RANK = re.compile(r"rank-(\d+)\.json")
_FAILED = re.compile(r"failed-(\d+)\.json")


class RankResult(BaseModel):
    """The file of one rank: docs/formats/bench.md."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    version: int = 1
    job: str = ""
    attempt: int = 1
    rank: int
    num_ranks: int
    server: int
    local_rank: int = 0
    node: str
    metrics: dict[str, float]
    samples: dict[str, list[float]] = {}
    curves: dict[str, list[list[float]]] = {}
    facts: dict[str, Any] = {}


class Collected(BaseModel):
    """The results of one job."""

    model_config = ConfigDict(frozen=True)

    results: dict[int, RankResult]
    failed: dict[int, str] = {}
    """Rank -> how it failed, as its task recorded."""

    problems: list[str] = []
    """Files that are not valid results."""


def collect(client: Client, job: Job) -> Collected:
    """Fetch the results of a job's newest attempt. Those of earlier attempts do not count."""
    with TemporaryDirectory(prefix="danlu-bench-") as name:
        try:
            paths = client.store.download(f"{job.output.rstrip('/')}/bench/", Path(name))
        except NotFound:
            return Collected(results={})
        return read_results({path.name: path.read_text(encoding="utf-8") for path in paths}, attempt=job.row.attempt)


def read_results(files: dict[str, str], *, attempt: int) -> Collected:
    results: dict[int, RankResult] = {}
    failed: dict[int, str] = {}
    problems: list[str] = []
    for name, text in sorted(files.items()):
        if _RANK.fullmatch(name):
            found, problem = _read_rank(name, text)
            if problem is not None:
                problems.append(problem)
            elif found is not None and found.attempt == attempt:
                results[found.rank] = found
        elif match := _FAILED.fullmatch(name):
            told = _object(text)
            if told.get("attempt") == attempt:
                failed[int(match[1])] = f"on {told.get('node')} {told.get('how')}"
    return Collected(results=results, failed=failed, problems=problems)


def _read_rank(name: str, text: str) -> tuple[Optional[RankResult], Optional[str]]:
    number = int(name[len("rank-") : -len(".json")])
    try:
        found = RankResult.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        return None, f"rank {number}: its result cannot be read: {place}: {first['msg']}"
    if found.rank != number:
        return None, f"rank {number}: its result says that it is rank {found.rank}"
    return found, None


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
