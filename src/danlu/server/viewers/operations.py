"""Starts the job that shows an ended one: it takes the stored output as data, and reads the job's runs."""

from __future__ import annotations

import secrets
from typing import Any

from sqlalchemy.orm import Session

from danlu.auth.identity import UserIdentity
from danlu.errors import NotFound, WrongState
from danlu.server.jobs import operations
from danlu.server.jobs.service import find
from danlu.server.jobs.view import job_out
from danlu.server.objects.located import readable
from danlu.server.scope import visible_project_ids
from danlu.server.state import ServerState
from danlu.spec.endpoints import READY_FILE, TENSORBOARD
from danlu.spec.job import JobAccess
from danlu.spec.paths import parse_store_path
from danlu.spec.states import JobState, is_over
from danlu.store.queries import jobs, people
from danlu.store.sql.tables import JobRow
from danlu.wire.jobs import JobOut, SubmitJob

OF = "tensorboard-of"
"""Tag with the id of the job that is shown."""

SECONDS, IDLE_SECONDS = 7200, 1800
_OPEN = [state for state in JobState if not is_over(state)]
_COMMAND = """\
set -e
mine=${{TMPDIR:-/tmp}}/danlu-tensorboard
mkdir -p "$mine/output"
python3 -m danlu track export-tensorboard {job} "$mine"
cd "${{DANLU_OUTPUT_DIR%/*}}/input/data/output" 2>/dev/null &&
  find . -name '*tfevents*' -exec cp --parents {{}} "$mine/output" \\;
cd /
[ ! -d "$HOME/tensorboard/{job}/logs" ] || cp -r "$HOME/tensorboard/{job}/logs" "$mine/logs"
touch "${ready_file}"
echo "open the endpoint tensorboard of this job"
exec sleep {seconds}
"""
"""TensorBoard itself starts when its endpoint is opened, as in every job, and reads this folder first.

It waits for the file of READY_FILE: a page that is opened too early stays empty until it is reloaded.
"""


def view(state: ServerState, who: UserIdentity, job: str) -> JobOut:
    """The user's job that shows it already, or a new one. Raise WrongState when the job has not ended."""
    row, project, there = state.database.read(_look_up, state, who, job)
    if there is not None:
        return there
    spec = _spec(row, project, has_output=_has_output(state, who, row))
    return operations.submit(state, who, SubmitJob(spec=spec))


def _look_up(session: Session, state: ServerState, who: UserIdentity, job: str) -> tuple[JobRow, str, JobOut | None]:
    row = find(session, who, job)
    if not is_over(JobState(row.state)):
        raise WrongState(f"{row.id} is {row.state}; open its endpoint {TENSORBOARD} itself")
    shown_by = jobs.JobFilter(project_ids=visible_project_ids(who), states=_OPEN, tags=[(OF, row.id)])
    there = jobs.list_jobs(session, shown_by, before=None, limit=100)
    mine = next((one for one in there if one.owner_id == who.user_id), None)
    project = people.project_name(session, row.project_id)
    return row, project, None if mine is None else job_out(session, mine, state.now())


def _has_output(state: ServerState, who: UserIdentity, row: JobRow) -> bool:
    """Whether there is output: missing data would keep the job from starting."""
    path = parse_store_path(row.output)
    try:
        where = state.database.read(readable, who, path.bucket, path.key, is_prefix=True)
    except NotFound:
        return False
    stored = where.stored
    return bool(state.objects.list(stored.bucket, prefix=stored.key, delimiter="", after="", limit=1).objects)


def _spec(row: JobRow, project: str, *, has_output: bool) -> dict[str, Any]:
    """A job without devices that ends by itself."""
    return {
        "name": f"tensorboard-{row.name}"[:60],
        "project": project,
        "command": _COMMAND.format(job=row.id, seconds=SECONDS, ready_file=READY_FILE),
        "access": JobAccess.READ.value,
        "endpoints": [TENSORBOARD],
        "env": {READY_FILE: f"/tmp/danlu-tensorboard-{secrets.token_hex(8)}"},  # without a sandbox, /tmp is shared
        "idle_limit": IDLE_SECONDS,
        "tags": {OF: row.id},
        **({"data": {row.output: "/opt/ml/input/data/output"}} if has_output else {}),
    }
