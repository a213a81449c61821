"""The job that runs a suite, and the suite of a job."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import danlu
from danlu.bench.suite import Mode, Suite, parse_suite
from danlu.client import Client, Job
from danlu.errors import InvalidInput

SUITE_TAG, RUN_TAG = "bench", "bench-run"
ALL = {"kind": "bench"}
"""Tags of every job of a benchmark."""
_INSIDE = Path(__file__).parent / "inside"


def new_run_id() -> str:
    return f"bench-{uuid.uuid4().hex[:12]}"


def submit(client: Client, suite: Suite, *, run_id: str, mode: Mode, nodes: int) -> Job:
    """Submit the job of a suite. The job contains everything that a report needs."""
    with _code_of(suite) as code:
        return client.jobs.submit(job_of(suite, run_id=run_id, mode=mode, nodes=nodes), **code)


def job_of(suite: Suite, *, run_id: str, mode: Mode, nodes: int) -> dict[str, Any]:
    values: dict[str, Any] = {
        "name": f"bench-{suite.name}",
        "command": suite.command or f"exec python3 -m danlu.bench.inside {suite.work}",
        "nodes": nodes,
        "launch": "ddp",
        "resources": {"device": suite.device, **({} if suite.cpus is None else {"cpus": suite.cpus})},
        "data": suite.data,
        "env": suite.env,
        "hyperparameters": {
            "suite": suite.model_dump(mode="json"),
            "mode": str(mode),
            "parameters": suite.parameters,
        },
        "tags": {**ALL, SUITE_TAG: suite.name, RUN_TAG: run_id},
        "max_duration": suite.timeout,
        "max_wait": suite.timeout,
    }
    extra = {"image": suite.image, "framework": suite.framework}
    return {**values, **{name: value for name, value in extra.items() if value is not None}}


def suite_of(job: Job) -> Suite:
    """The suite that a job runs. Raise InvalidInput for other jobs."""
    found = job.details.spec.get("hyperparameters", {}).get("suite")
    if not isinstance(found, dict) or SUITE_TAG not in job.row.tags:
        raise InvalidInput(f"{job.id} is no job of a benchmark")
    return parse_suite(found, where=job.id)


def mode_of(job: Job) -> Mode:
    return Mode(job.details.spec["hyperparameters"]["mode"])


@contextmanager
def _code_of(suite: Suite) -> Iterator[dict[str, Any]]:
    """Code of the job: that of the suite, or for shipped work a copy of `inside`, so that images need no Danlu."""
    if suite.work is None:
        yield {} if suite.code is None else {"code": suite.code}
        return
    with TemporaryDirectory(prefix="danlu-bench-") as name:
        package = Path(name) / "danlu"
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(_INSIDE, package / "bench" / "inside", ignore=ignored)
        (package / "__init__.py").write_text(f'__version__ = "{danlu.__version__}"\n')
        (package / "bench" / "__init__.py").write_text("")
        yield {"code": name}
