"""TensorBoard of a job that has ended: a small job that has its stored output as data."""

from __future__ import annotations

from typing import Any

from danlu.client.jobs.job import Job
from danlu.spec.endpoints import TENSORBOARD

OF = "tensorboard-of"
"""The tag that says which job it shows."""

SECONDS = 7200
_COMMAND = """\
set -e
mine=${{TMPDIR:-/tmp}}/danlu-tensorboard
mkdir -p "$mine/output"
python3 -m danlu track export-tensorboard {job} "$mine"
cd "${{DANLU_OUTPUT_DIR%/*}}/input/data/output" 2>/dev/null &&
  find . -name '*tfevents*' -exec cp --parents {{}} "$mine/output" \\;
[ ! -d "$HOME/tensorboard/{job}/logs" ] || cp -r "$HOME/tensorboard/{job}/logs" "$mine/logs"
echo "open the endpoint tensorboard of this job"
exec sleep {seconds}
"""
"""TensorBoard itself starts when it is opened, as in every job, and reads this folder first of all."""


def viewer_of(job: Job, *, has_output: bool) -> dict[str, Any]:
    """The job that shows what an ended one has left. It needs no device, and ends by itself."""
    shown: dict[str, Any] = {
        "name": f"tensorboard-{job.name}"[:60],
        "project": job.details.project,
        "command": _COMMAND.format(job=job.id, seconds=SECONDS),
        "access": "read",
        "endpoints": [TENSORBOARD],
        "tags": {OF: job.id},
    }
    if has_output:
        shown["data"] = {job.details.output: "/opt/ml/input/data/output"}
    return shown
