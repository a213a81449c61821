"""Steps that tests of the scheduler share."""

from __future__ import annotations

from sqlalchemy.orm import Session
from tests.support.world import World

from danlu.server.jobs import service
from danlu.spec.states import TaskState
from danlu.store.queries import attempts
from danlu.store.sql.tables import AttemptRow


def held_devices(world: World) -> int:
    with world.database.reading() as session:
        return len(attempts.device_claims(session))


def want(world: World, job_id: str, verb: str) -> None:
    action = {
        "stop": service.stop,
        "pause": service.pause,
        "resume": service.resume,
        "start": service.start_again,
        "delete": service.delete,
    }[verb]
    world.database.write(action, world.state, world.admin, job_id)


def lose_output(world: World, job_id: str, code: str) -> None:
    """Rank 0 ends, and what it made does not reach the store."""
    task = world.engine.task(job_id)
    task.state, task.reason, task.exit_code, task.ended_at = TaskState.FAILED, code, 0, 1500.0
    task.is_output_complete = False


def row(session: Session, job_id: str) -> AttemptRow:
    found = attempts.get_attempt(session, job_id, 1)
    assert found is not None
    return found
