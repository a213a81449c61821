"""Logs that are long, have no lines, or are not there: what one task prints is copied in turn with what others do."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.support.abuse import Scene
from tests.support.world import Api, World

from danlu.engines.base import Handle
from danlu.scheduler.collect_logs import PIECE_BYTES, copy_piece
from danlu.scheduler.loop import Scheduler
from danlu.spec.states import JobState
from danlu.store.logs.index import TAIL_BYTES, Logs
from danlu.store.logs.segments import SEGMENT_BYTES, LogFiles
from danlu.testing.serving import RunningServer

MIB = 1 << 20


class TestWithoutLines:
    def test_a_hundred_megabytes_of_nothing_stalls_nobody(self, make_server: Callable[..., RunningServer]) -> None:
        """A sparse file costs its writer nothing. The job of another person begins and ends meanwhile."""
        server = make_server()
        with server.client() as client:
            big = client.jobs.submit(name="big", command="truncate -s 100M /dev/stdout; exit 3")
            small = client.jobs.submit(name="small", command="echo done")
            assert small.wait().state is JobState.SUCCEEDED
            assert [line.text for line in small.logs()] == ["done"]
            assert big.wait().state is JobState.FAILED
            assert big.details.attempts[0].tasks[0].log_bytes == 100 * MIB
            assert [line.offset for line in big.logs(tail=5)] == [max(0, 100 * MIB - TAIL_BYTES)]

    def test_the_last_lines_are_looked_for_in_the_end_only(self, world: World) -> None:
        logs, key = _stored(world, b"\0" * (40 * MIB))
        assert logs.tail_offset(*key, 20, 40 * MIB, most_bytes=64 << 10) == 40 * MIB - (64 << 10)
        assert logs.tail_offset(*key, 20, 40 * MIB) == 0

    @pytest.mark.parametrize("num_lines", [1, 2, 999, 1000, 1_000_000])
    def test_lines_are_counted_over_pieces(self, world: World, num_lines: int) -> None:
        lines = [b"x" * (number % 7000) + b"\n" for number in range(1000)]
        data = b"".join(lines)
        logs, key = _stored(world, data)
        begin = logs.tail_offset(*key, num_lines, len(data))
        assert data[begin:] == b"".join(lines[-num_lines:])
        assert logs.tail_offset(*key, num_lines, len(data) - 1) == begin  # a last line without its end

    def test_ten_million_empty_lines(self, scene: Scene) -> None:
        job_id = scene.world.started(who=scene.world.identity("eve"), project="eves")
        scene.world.engine.task(job_id).log += b"\n" * (10 * MIB)
        scene.world.engine.finish(job_id)
        scene.world.tick()
        with Api(scene.url, scene.eve) as api:
            answer = api("GET", f"/jobs/{job_id}/logs?tail=9999999&grep=x")
            assert answer.status_code == 200
            assert answer.text.count("event: log") == 0
        scene.bob_works()


class TestManyBytes:
    def test_the_scheduler_does_not_wait_for_them(self, world: World) -> None:
        """A look asks for the copy and goes on: what another person wants happens in the same look."""
        chatty = world.started()
        world.engine.task(chatty).log += b"x" * (64 * MIB)
        hasty = Scheduler(world.context("server-1"), queue_share=1.0, patience_seconds=0.0)
        other = world.submit()
        world.tick(scheduler=hasty)
        assert world.job(other).state is JobState.STARTING
        assert world.job(chatty).attempts[0].tasks[0].log_bytes < 64 * MIB

    def test_a_short_log_does_not_wait_behind_a_long_one(self, world: World) -> None:
        jobs = [world.started(), world.started()]
        world.engine.task(jobs[0]).log += b"x" * (200 * MIB)
        world.engine.task(jobs[1]).log += b"short\n"
        hasty = Scheduler(world.context("server-1"), queue_share=1.0, patience_seconds=0.0)
        while world.job(jobs[1]).attempts[0].tasks[0].log_bytes < 6:
            world.tick(scheduler=hasty)
        assert world.job(jobs[0]).attempts[0].tasks[0].log_bytes < 200 * MIB

    def test_what_would_be_removed_at_once_is_not_copied(self, world: World) -> None:
        """16 MiB are kept of a log; of 64 the first 8 and the last 16 are ever written."""
        job_id = world.started()
        files = CountedFiles(world.settings.log_dir)
        logs = Logs(world.database, files, max_bytes=16 * MIB)
        text = b"".join(b"%015d\n" % number for number in range(4 * MIB))
        world.engine.task(job_id).log += text
        handle = Handle(job_id=job_id, attempt=1, rank=0, node="here")
        stored = 0
        while stored < len(text):
            stored = copy_piece(logs, world.engine, handle, stored, len(text))
        assert files.num_bytes <= 8 * MIB + 16 * MIB + SEGMENT_BYTES + PIECE_BYTES
        first = logs.next_stored(job_id, 1, 0, 9 * MIB)
        assert b"".join(logs.read_until(job_id, 1, 0, 0, 8 * MIB)) == text[: 8 * MIB]
        assert b"".join(logs.read_until(job_id, 1, 0, first, len(text))) == text[first:]


class CountedFiles(LogFiles):
    """Counts what is written."""

    num_bytes = 0

    def write(self, job_id: str, attempt: int, rank: int, *, start: int, at: int, data: bytes) -> None:
        self.num_bytes += len(data)
        super().write(job_id, attempt, rank, start=start, at=at, data=data)


def _stored(world: World, data: bytes) -> tuple[Logs, tuple[str, int, int]]:
    job_id = world.started()
    world.engine.task(job_id).log += data
    world.tick()
    return world.logs, (job_id, 1, 0)
