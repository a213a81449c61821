"""What a server that was killed at a bad moment left half done is done by the next one."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from danlu.spec.states import JobState
from danlu.testing.footprint import Footprint
from danlu.testing.invariants import check_at_rest
from danlu.testing.serving import RunningServer
from danlu.testing.waiting import wait_until


def test_a_kill_at_a_bad_moment_is_made_good(hurt: RunningServer, footprint: Footprint) -> None:
    with hurt.start().client() as client:
        over = client.jobs.submit(name="over", command="echo fine")
        over.wait()
        wait_until(lambda: footprint.folders() == [])
        long = client.jobs.submit(name="long", command="sleep 3600", grace=1)
        wait_until(lambda: long.refresh().state is JobState.RUNNING)
    hurt.kill()
    # between the end of an attempt and the removal of its folder
    folder = hurt.data_dir / "work" / over.id / "1"
    (folder / "0").mkdir(parents=True)
    (folder / "0" / "log").write_text("fine\n")
    # a job that is not known any more, because it was deleted meanwhile
    (hurt.data_dir / "work" / "train-000000000000000001" / "1" / "0").mkdir(parents=True)
    # between "the attempt runs" and "the job runs"
    with closing(sqlite3.connect(hurt.data_dir / "server" / "danlu.db")) as database, database:
        database.execute("UPDATE jobs SET state = 'starting', reason_code = 'starting' WHERE id = ?", (long.id,))
    with hurt.start().client() as client:
        wait_until(lambda: footprint.folders() == [f"{long.id}/1"])
        wait_until(lambda: client.jobs.get(long.id).state is JobState.RUNNING)
        client.jobs.get(long.id).stop().wait()
    check_at_rest(hurt.data_dir, footprint)
