"""The record of a test: stored in `result/`, and reported to a Tester if one is configured."""

from __future__ import annotations

import json
import os
from datetime import datetime
from pathlib import Path
from typing import Any, Callable, Optional

from ais_bench_stubs.results import Result
from danlu.bench import tester
from danlu.bench.suite import Better
from danlu.client import Client, Job

URL, KEY, BUCKET = "DANLU_TESTER_URL", "DANLU_TESTER_KEY", "DANLU_TESTER_BUCKET"
"""Variables with the URL of the Tester, an API key for it, and its bucket (default `main`)."""

LIMIT_SECONDS = 3600.0
"""How long to retry while the Tester does not answer."""


def record(found: Result, began: datetime, ended: datetime) -> dict[str, Any]:
    """Return AIS-Bench's `train_result_info`. Power and data loading times are not measured."""
    times = {"start_time": f"{began:%Y-%m-%d %H:%M:%S}", "end_time": f"{ended:%Y-%m-%d %H:%M:%S}"}
    numbers = ("average_power", "max_power", "energy_consumption", "efficientcy", "resource_util_ratio")
    return {
        "train_result_info": {
            "accuracy": str(found.accuracy),
            "throughput_ratio": str(found.throughput),
            **dict.fromkeys(numbers, 0),
            **{f"{part}_{name}": tester.UNSET_TIME for part in ("dataload", "prepare") for name in times},
            **{f"{part}_{name}": value for part in ("proc", "total") for name, value in times.items()},
        }
    }


def keep(folder: Path, found: Result, told: dict[str, Any]) -> None:
    target = folder / "result"
    target.mkdir(exist_ok=True)
    (target / "result.json").write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    numbers = {"throughput_ratio": found.throughput, "accuracy": found.accuracy}
    (target / "result.log").write_text(json.dumps(numbers) + "\n", encoding="utf-8")


def report(told: dict[str, Any], found: Result, *, job: Job, suite: str, who: Callable[[], str]) -> Optional[str]:
    """Post the record to the Tester; return its location there, None if no Tester is configured."""
    url, key = os.environ.get(URL), os.environ.get(KEY)
    if not url or not key:
        return None
    entry = tester.Entry(
        run=job.id,
        suite=suite,
        who=who(),
        measure="throughput_ratio",
        unit="samples/s",
        better=Better.HIGHER,
        value=found.throughput,
        nodes=job.row.nodes,
        num_ranks=found.num_ranks,
    )
    with Client(url=url, api_key=key) as collecting:
        bucket = os.environ.get(BUCKET) or "main"
        whole = {"entry": entry.model_dump(mode="json"), **told}
        return tester.post(collecting, whole, bucket=bucket, limit_seconds=LIMIT_SECONDS)
