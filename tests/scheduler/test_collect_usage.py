"""What many tasks use is asked at once; one of them that cannot be read keeps no other back."""

from __future__ import annotations

from pathlib import Path

from tests.fakes.engine import FakeEngine
from tests.support.world import World

from danlu.engines.base import Handle, UsagePiece
from danlu.scheduler.collect_usage import Collector
from danlu.scheduler.live import LiveJobs
from danlu.scheduler.specs import SpecCache
from danlu.store.metrics.usage import UsageFiles


class HalfBroken(FakeEngine):
    """The first task that is asked for is on a disk that fails."""

    def read_usage(self, handle: Handle, generation: int, offset: int) -> UsagePiece | None:
        if handle.job_id == min(job_id for job_id, _, _ in self.tasks):
            raise OSError(5, "Input/output error")
        return UsagePiece(1, 0, b"x" * 100)


def test_a_task_that_cannot_be_read_keeps_no_other_back(world: World, tmp_path: Path) -> None:
    _, second = sorted([world.started(), world.started()])
    engine, files = HalfBroken([]), UsageFiles(tmp_path / "use")
    engine.tasks = world.engine.tasks
    live = LiveJobs(world.context("server-1"), SpecCache()).load()
    Collector(files, {world.engine.name: engine}).look(live)
    assert {path.name for path in (tmp_path / "use").iterdir()} == {second}


def test_a_copy_that_cannot_be_opened_is_as_none(tmp_path: Path) -> None:
    files = UsageFiles(tmp_path / "use")
    files.put("train-1", 1, 0, offset=0, data=b"x" * 100)
    (file,) = (path for path in tmp_path.rglob("*") if path.is_file())
    file.unlink()
    file.mkdir()
    assert files.known("train-1", 1, 0) == (-1, 0)
