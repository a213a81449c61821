"""Submitting a job: checked in a read transaction, then stored."""

from __future__ import annotations

from danlu.auth.identity import UserIdentity
from danlu.errors import NotFound
from danlu.server.jobs import service
from danlu.server.jobs.checks import not_uploaded
from danlu.server.jobs.inputs import check_there
from danlu.server.jobs.view import job_out, new_job_out
from danlu.server.state import ServerState
from danlu.server.trees.operations import adopt_tree
from danlu.wire.jobs import JobOut, PlanJob, PlanOut, SubmitJob


def submit(state: ServerState, who: UserIdentity, body: SubmitJob) -> JobOut:
    """Check in a read, so that SQLite's only writer is held for the insert alone."""
    checked = state.database.read(service.check, state, who, body.spec)
    check_there(state, checked.access.places)
    _bring_code(state, who, checked)
    row = state.database.write(service.submit, state, who, checked, body.request_id)
    if row.attempt:  # a repeated request; the job has started meanwhile
        return state.database.read(job_out, row, state.now())
    return new_job_out(row, project=checked.project, owner=who.name)


def plan(state: ServerState, who: UserIdentity, body: PlanJob) -> PlanOut:
    """What would be started. Inputs are checked as at submission."""
    made, places = state.database.read(service.plan, state, who, body.spec, body.explain)
    check_there(state, places)
    return made


def _bring_code(state: ServerState, who: UserIdentity, checked: service.Checked) -> None:
    """Add the job's code to its project, if it was uploaded to another project of the user."""
    tree = checked.access.tree
    if tree is None or checked.access.is_tree_here:
        return
    try:
        adopt_tree(state, who, tree, project_id=checked.project_id)
    except NotFound as error:
        raise not_uploaded(tree) from error
