"""Jobs as users see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime

from sqlalchemy.orm import Session

from danlu.launch import Explanation, Plan
from danlu.spec.job import JobSpec
from danlu.spec.messages.catalogue import recognise
from danlu.spec.money import Span, cost
from danlu.spec.reasons import Reason
from danlu.spec.states import AttemptState, Desired, JobState, TaskState
from danlu.spec.terms import Terms, as_asked
from danlu.store.queries import attempts, models, people, runs
from danlu.store.queries.jobs import Listed, listed
from danlu.store.sql.tables import AttemptRow, EventRow, JobRow, TaskRow
from danlu.wire.jobs import AttemptOut, EventOut, JobOut, JobSummary, PlanOut, TaskOut

HIDDEN = "******"


def rows_out(session: Session, rows: Sequence[Listed], now: datetime) -> list[JobSummary]:
    """Jobs for a list, with three queries for all of them."""
    projects = people.projects_by_id(session)
    owners = people.names_of_users(session, {row.owner_id for row in rows})
    held = attempts.held_times(session, [row.id for row in rows if row.terms is not None])
    return [
        JobSummary.model_validate({**_common(row, projects, owners), **_cost(row, held.get(row.id, []), now)})
        for row in rows
    ]


def job_out(session: Session, row: JobRow, now: datetime) -> JobOut:
    """A job in full."""
    projects = people.projects_by_id(session)
    owners = people.names_of_users(session, {row.owner_id})
    made = attempts.attempts_of(session, row.id) if row.attempt else []
    tasks = attempts.tasks_of(session, row.id) if row.attempt else []
    common = {
        **_common(listed(row), projects, owners),
        **_cost(row, [(attempt.started_at, attempt.ended_at) for attempt in made], now),
        **_progress(session, row.id),
        "models": _models(session, row),
    }
    return _whole(common, row, [_attempt(attempt, tasks) for attempt in made], made)


def new_job_out(row: JobRow, *, project: str, owner: str) -> JobOut:
    """A job that was just submitted: needs no queries."""
    common = _common(listed(row), {row.project_id: project}, {row.owner_id: owner})
    return _whole({**common, **_cost(row, [], row.created_at)}, row, [], [])


def _whole(common: dict[str, object], row: JobRow, shown: Sequence[AttemptOut], made: Sequence[AttemptRow]) -> JobOut:
    notes = list(made[-1].notes) if made else []
    terms = None if row.terms is None else Terms.model_validate(row.terms)
    return JobOut.model_validate(
        {
            **common,
            "spec": row.spec if terms is None else as_asked(row.spec, terms),
            "framework": None if terms is None or terms.framework is None else terms.framework.model_dump(),
            "output": row.output,
            "attempts": list(shown),
            "notes": notes,
            "notes_said": [recognise(note) for note in notes],
        }
    )


def stored_spec(spec: JobSpec) -> dict[str, object]:
    """The spec as it is stored and shown: names of secrets, never their values."""
    values = spec.model_dump(mode="json")
    values["secrets"] = dict.fromkeys(spec.secrets, HIDDEN)
    return values


def event_out(row: EventRow) -> EventOut:
    return EventOut(
        id=row.id, at=row.at, attempt=row.attempt, kind=row.kind, message=row.message, said=recognise(row.message)
    )


def plan_out(plan: Plan, notes: Sequence[str], explanation: Explanation | None, terms: Terms | None) -> PlanOut:
    told = None if explanation is None else _explained(explanation)
    price = {} if terms is None or terms.price_per_hour is None else _price(terms)
    said = {"notes": list(notes), "notes_said": [recognise(note) for note in notes]}
    return PlanOut.model_validate({**plan.model_dump(mode="json"), **price, **said, "explanation": told})


def _explained(explanation: Explanation) -> dict[str, object]:
    told = asdict(explanation)
    for variable in (variable for task in told["tasks"] for variable in task["variables"].values()):
        variable["what_said"] = recognise(variable["what"])
    return {**told, "succeeds_said": recognise(explanation.succeeds)}


def _common(row: Listed, projects: Mapping[int, str], owners: Mapping[int, str]) -> dict[str, object]:
    return {
        "id": row.id,
        "name": row.name,
        "project": projects[row.project_id],
        "owner": owners[row.owner_id],
        "state": JobState(row.state),
        "desired": Desired(row.desired),
        "reason": Reason(code=row.reason_code, message=row.reason_message),
        "said": recognise(row.reason_message),
        "nodes": row.nodes,
        "device": _device(row),
        "on": _on(row),
        "launch": row.launch,
        "attempt": row.attempt,
        "priority": row.priority,
        "tags": row.tags,
        "created_at": row.created_at,
        "started_at": row.started_at,
        "ended_at": row.ended_at,
    }


def _cost(row: JobRow | Listed, held: Sequence[Span], now: datetime) -> dict[str, object]:
    """What the job costs; empty when it has no flavor."""
    terms = None if row.terms is None else Terms.model_validate(row.terms)
    if terms is None or terms.price_per_hour is None:
        return {}
    grows = any(end is None for _, end in held)
    return {
        **_price(terms),
        "cost": cost(terms.price_per_hour, held, now),
        "cost_at": now if grows else None,
    }


def _price(terms: Terms) -> dict[str, object]:
    return {"price_per_hour": terms.price_per_hour, "currency": terms.currency}


def _models(session: Session, row: JobRow) -> list[str]:
    found = models.of_job(session, row.id)
    return [f"{model.name}:{version.version}" for version, model in found if model.project_id == row.project_id]


def _progress(session: Session, job_id: str) -> dict[str, object]:
    """Progress of the job's own run, if it has one."""
    run = runs.own_run(session, job_id)
    if run is None:
        return {}
    progress = min(1.0, max(0.0, run.step / run.total_steps)) if run.total_steps and run.step is not None else None
    return {"run": run.id, "step": run.step, "total_steps": run.total_steps, "progress": progress}


def _device(row: Listed) -> str:
    """The device that each node of a job has; if it has roles, that of the first one."""
    first = next(iter((row.roles or {}).values()), None)
    return row.device if first is None else str(first["resources"]["device"])


def _on(row: Listed) -> str:
    """Nodes and devices in one phrase, for lists."""
    roles = row.roles or {}
    return (
        ", ".join(f"{role['count']}x {role['resources']['device']} {name}" for name, role in roles.items())
        or f"{row.nodes}x {row.device}"
    )


def _attempt(row: AttemptRow, tasks: Sequence[TaskRow]) -> AttemptOut:
    return AttemptOut(
        number=row.number,
        state=AttemptState(row.state),
        reason=Reason(code=row.reason_code, message=row.reason_message),
        said=recognise(row.reason_message),
        first_failed_rank=row.first_failed_rank,
        last_lines=list(row.last_lines),
        tasks=[_task(task) for task in tasks if task.attempt == row.number],
        started_at=row.started_at,
        ended_at=row.ended_at,
    )


def _task(row: TaskRow) -> TaskOut:
    return TaskOut(
        rank=row.rank,
        role=row.role,
        node=row.node,
        state=TaskState(row.state),
        exit_code=row.exit_code,
        device_ids=list(row.device_ids),
        log_bytes=row.log_bytes,
        started_at=row.started_at,
        ended_at=row.ended_at,
    )
