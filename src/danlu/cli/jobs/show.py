"""`danlu show`"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

import typer

from danlu.cli.jobs.notes import that_matter
from danlu.cli.language import remedy, sentence, told
from danlu.cli.options import AsJson, JobName
from danlu.cli.terminal import echo_block, echo_json, one_line, paint

if TYPE_CHECKING:
    from danlu.wire.jobs import AttemptOut, EventOut, JobOut
    from danlu.wire.why import WhyOut


def show(
    job: JobName,
    events: bool = typer.Option(False, "--events", "-e", help="Include its events."),
    diff: bool = typer.Option(False, "--diff", help="Only how its code differed from the commit, as a patch."),
    as_json: AsJson = False,
) -> None:
    """Show a job, its state and the reason.

    \b
    Examples:
      danlu show train-0741234
      danlu show mnist --events
      danlu show mnist --diff | git apply
      danlu show mnist --json | jq .reason
    """
    from danlu.client import Client
    from danlu.spec.states import JobState

    with Client() as client:
        found = client.jobs.get(job)
        happened = list(found.events()) if events else []
        waits = found.why() if found.state is JobState.QUEUED and not as_json else None
    if diff:
        echo_block(str((found.details.spec.get("code") or {}).get("diff") or ""))
        return
    if as_json:
        echo_json(
            {**found.details.model_dump(mode="json"), "events": [e.model_dump(mode="json") for e in happened]}
            if events
            else found.details
        )
        return
    echo_block(job_text(found.details, happened, waits))


def job_text(job: JobOut, happened: list[EventOut], waits: Optional[WhyOut] = None) -> str:
    """The job as text: facts, tasks, events and the reason."""
    parts = [_facts(job)]
    if job.attempts:
        parts.append(_tasks(job.attempts[-1]))
    if happened:
        lines = (f"{event.at:%Y-%m-%d %H:%M:%S}  {event.kind}: {told(event.said, event.message)}" for event in happened)
        parts.append("\n".join(map(one_line, lines)))
    parts += [one_line(f"note: {sentence(text)}") for text in that_matter(job.notes, job.spec)]
    parts.append(_why(job))
    if waits is not None:
        from danlu.cli.jobs.why import why_text

        parts.append(why_text(waits))
    parts.append(_commands(job))
    return "\n\n".join(parts)


def _facts(job: JobOut) -> str:
    from danlu.cli.output import age, facts, lasted, state_text

    values = {
        "state": state_text(job.state),
        "owner": f"{job.owner} in {job.project}",
        "nodes": f"{job.on or f'{job.nodes} x {job.device}'}, launch {job.launch}",
        "flavor": job.spec.get("flavor") or _of_roles(job, "flavor"),
        "framework": _framework(job),
        "cost": _cost(job),
        "command": _words(job.spec.get("command")),
        **{name: _words(role.get("command")) for name, role in (job.spec.get("roles") or {}).items()},
        "done": f"when {job.spec['success']} is" if job.spec.get("success") else "",
        "code": str((job.spec.get("code") or {}).get("git") or ""),
        "packages": _words(job.spec.get("requirements")),
        "output": job.output,
        "access": _access(job),
        "tags": ", ".join(f"{name}={value}" for name, value in job.tags.items()),
        "created": f"{job.created_at:%Y-%m-%d %H:%M:%S} UTC ({age(job.created_at)} ago)",
        "ran": lasted(job.started_at, job.ended_at),
        "attempt": str(job.attempt) if job.attempt > 1 else "",
        "progress": _progress(job),
        "models": f"{', '.join(job.models)} (danlu models show {job.models[-1]})" if job.models else "",
    }
    return facts(f"{job.id}  {job.name}", {name: _first_line(value) for name, value in values.items()})


def _access(job: JobOut) -> str:
    """What it may do on the server, where that is more than usual."""
    return {
        "read": f"read: until its end it reads what {job.owner} may read",
        "owner": f"owner: until its end it acts for {job.owner} in {job.project}",
    }.get(str(job.spec.get("access")), "")


def _of_roles(job: JobOut, field: str) -> str:
    roles = (job.spec.get("roles") or {}).items()
    return ", ".join(f"{role[field]} {name}" for name, role in roles if role.get(field))


def _framework(job: JobOut) -> str:
    if job.framework is None:
        return ""
    image = job.framework.image or "the node's own Python"
    return f"{job.framework.name} ({image})"


def _cost(job: JobOut) -> str:
    from danlu.spec.money import show_cost, show_price

    if job.cost is None or job.price_per_hour is None or job.currency is None:
        return ""
    so_far = " so far" if job.cost_at is not None else ""
    return f"{show_cost(job.cost, job.currency)}{so_far}, {show_price(job.price_per_hour, job.currency)}"


def _progress(job: JobOut) -> str:
    if job.run is None:
        return ""
    done = f"step {job.step}" if job.step is not None else ""
    if job.progress is not None:
        done = f"{job.progress:.1%}, step {job.step} of {job.total_steps}"
    return f"{done} (danlu runs show {job.run})"


def _words(command: Any) -> str:
    return command if isinstance(command, str) else " ".join(map(str, command or ()))


def _tasks(attempt: AttemptOut) -> str:
    from danlu.cli.output import lasted, table
    from danlu.spec.units import show_size

    rows = [
        (
            f"  {task.rank}",
            task.role,
            task.node,
            ",".join(map(str, task.device_ids)) or "-",
            str(task.state),
            "-" if task.exit_code is None else str(task.exit_code),
            show_size(task.log_bytes),
            lasted(task.started_at, task.ended_at),
        )
        for task in attempt.tasks
    ]
    return table(("  RANK", "ROLE", "NODE", "DEVICES", "STATE", "EXIT", "LOG", "RAN"), rows)


def _why(job: JobOut) -> str:
    from danlu.cli.output import bold, indented

    lines = [f"{bold('why')}  {indented(told(job.said, job.reason.message), '     ')} ({job.reason.code})"]
    if remedy(job.reason.code):
        lines.append(f"     {remedy(job.reason.code)}")
    attempt = job.attempts[-1] if job.attempts else None
    if attempt is not None and any(line.strip() for line in attempt.last_lines):
        lines.append(f"last lines of rank {attempt.first_failed_rank}:")
        lines += [f"  {one_line(line)}" for line in attempt.last_lines]
    return "\n".join(lines)


def _commands(job: JobOut) -> str:
    from danlu.spec.states import JobState, is_over

    commands = [f"danlu logs {job.id}" if is_over(job.state) else f"danlu logs -f {job.id}"]
    if is_over(job.state):
        commands += [f"danlu store ls {job.output}", f"danlu start {job.id}", f"danlu rm {job.id}"]
    elif job.state is JobState.PAUSED:
        commands += [f"danlu resume {job.id}", f"danlu stop {job.id}"]
    else:
        commands += [f"danlu why {job.id}"] if job.state is JobState.QUEUED else []
        commands += [f"danlu wait {job.id}", f"danlu stop {job.id}"]
    return paint("\n".join(commands), 2)


def _first_line(text: str) -> str:
    first, _, rest = text.partition("\n")
    return f"{first} ..." if rest.strip() else first
