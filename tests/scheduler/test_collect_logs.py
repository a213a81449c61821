"""Who writes much is followed without another look of the scheduler."""

from __future__ import annotations

from tests.fakes.engine import FakeEngine
from tests.support.world import World

from danlu.engines.base import Handle, LogPiece, Observation
from danlu.scheduler.collect_logs import LogCopier
from danlu.spec.states import TaskState
from danlu.store.queries import attempts

MIB = 1 << 20


class Chatty(FakeEngine):
    """Its task writes another piece whenever one was read."""

    piece_bytes, num_pieces = MIB, 5

    def read_log_piece(self, handle: Handle, offset: int, *, limit: int, after_mark: int) -> LogPiece:
        found = super().read_log_piece(handle, offset, limit=limit, after_mark=after_mark)
        if found.data and self.num_pieces:
            self.num_pieces -= 1
            self.tasks[handle.job_id, handle.attempt, handle.rank].log += b"x" * self.piece_bytes
        return found


def stored_after_one_look(world: World, engine: Chatty) -> int:
    job_id = world.started()
    engine.tasks = world.engine.tasks
    world.engine.task(job_id).log += b"x" * engine.piece_bytes
    handle = Handle(job_id=job_id, attempt=1, rank=0, node="here")
    with world.database.reading() as session:
        (row,) = attempts.tasks_of(session, job_id)
    copier = LogCopier(world.logs, patience_seconds=60.0)
    copier.begin_look()
    seen = Observation(state=TaskState.RUNNING, log_bytes=engine.piece_bytes)
    return copier.copy(engine, handle, row, seen)


def test_much_is_read_on_until_nothing_is_new(world: World) -> None:
    assert stored_after_one_look(world, Chatty([])) == 6 * MIB


def test_a_little_is_not(world: World) -> None:
    engine = Chatty([])
    engine.piece_bytes = 1000
    assert stored_after_one_look(world, engine) == 1000
