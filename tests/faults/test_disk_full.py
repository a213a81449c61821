"""Disks without room: a clear reason, nothing half done, and everything goes on when there is room again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from danlu.auth.secrets import Sealer
from danlu.errors import StorageFull, Unavailable
from danlu.spec.states import JobState
from danlu.testing.disks import SmallDisk
from danlu.testing.footprint import Footprint
from danlu.testing.gates import HOLD
from danlu.testing.invariants import check_always, check_at_rest
from danlu.testing.load import CHATTY, CHATTY_TEXT
from danlu.testing.serving import RunningServer
from danlu.testing.waiting import wait_until

Mount = Callable[[Path, str], SmallDisk]


class TestFoldersOfTasks:
    def test_a_log_without_room_ends_its_job_and_no_other(
        self, hurt: RunningServer, footprint: Footprint, small_disk: Mount
    ) -> None:
        small_disk(hurt.data_dir / "work", "6m")
        hurt.env["DANLU_SERVER_MAX_DISK_BYTES"] = str(1 << 30)  # the disk is full before the task's share is used up
        with hurt.start().client() as client:
            calm = client.jobs.submit(name="calm", command=f"echo begun; {HOLD}; echo over")
            wait_until(lambda: calm.refresh().state is JobState.RUNNING)
            loud = client.jobs.submit(name="loud", command="head -c 20000000 /dev/zero | tr '\\0' x || exit 1; exit 1")
            loud.wait()
            assert (loud.state, loud.reason.code) == (JobState.FAILED, "disk_full")
            assert str(hurt.data_dir / "work" / loud.id) in loud.reason.message
            text = b"".join(loud.raw_log())
            assert len(text) == loud.details.attempts[0].tasks[0].log_bytes > 1_000_000
            assert set(text) == {ord("x")}
            hurt.let_go(calm.id)
            assert calm.wait().state is JobState.SUCCEEDED
            assert b"".join(calm.raw_log()) == b"begun\nover\n"
        check_at_rest(hurt.data_dir, footprint)

    def test_a_start_without_room_waits_for_it(
        self, hurt: RunningServer, footprint: Footprint, small_disk: Mount
    ) -> None:
        disk = small_disk(hurt.data_dir / "work", "6m")
        with hurt.start().client() as client:
            disk.fill()
            job = client.jobs.submit(name="patient", command="echo fine", resources={"device": "npu:1"})
            other = client.jobs.submit(name="other", command="echo fine", resources={"device": "npu:1"})
            for one in (job, other):
                wait_until(lambda one=one: one.refresh().reason.code == "disk_full")  # type: ignore[misc]
                assert "no room" in one.reason.message
            check_always(hurt.data_dir, footprint)
            other.stop().wait()
            assert (other.state, other.reason.code) == (JobState.STOPPED, "stopped_by_user")
            disk.empty()
            assert job.wait().state is JobState.SUCCEEDED
            assert job.details.attempt == 1
        check_at_rest(hurt.data_dir, footprint)


class TestStore:
    def test_an_upload_without_room_leaves_nothing(
        self, hurt: RunningServer, small_disk: Mount, tmp_path: Path
    ) -> None:
        disk = small_disk(hurt.data_dir / "store", "4m")
        big = tmp_path / "big"
        big.write_bytes(bytes(8 << 20))
        with hurt.start().client() as client:
            with pytest.raises(StorageFull, match="the store's disk is full: store://main/big was not stored"):
                client.store.upload(big, "main/big")
            assert list(client.store.list("main/")) == []
            assert disk.free_bytes() > 3 << 20, [*disk.path.rglob("*")]
            client.store.upload(__file__, "main/small")
            assert client.store.size("main/small") == Path(__file__).stat().st_size

    def test_pieces_of_an_upload_are_kept(self, hurt: RunningServer, small_disk: Mount, tmp_path: Path) -> None:
        disk = small_disk(hurt.data_dir / "server" / "uploads", "30m")
        big = tmp_path / "big"
        big.write_bytes(bytes(range(256)) * (20 << 12))
        moved: list[int] = []
        with hurt.start().client() as client:
            disk.fill(leave_bytes=8 << 20)
            with pytest.raises(StorageFull, match="the store's disk is full"):
                client.store.upload(big, "main/big")
            assert not client.store.exists("main/big")
            disk.empty()
            client.store.upload(big, "main/big", progress=lambda progress: moved.append(progress.done_bytes))
            assert moved[0] >= 4 << 20, "it began again"
            (copy,) = client.store.download("main/big", tmp_path / "copy")
            assert copy.read_bytes() == big.read_bytes()


class TestDatabase:
    def test_submits_are_refused_and_jobs_go_on(
        self, hurt: RunningServer, footprint: Footprint, small_disk: Mount
    ) -> None:
        disk = small_disk(hurt.data_dir, "12m")
        small_disk(hurt.data_dir / "work", "64m")
        with hurt.start().client() as client:
            chatty = client.jobs.submit(name="chatty", command=f"{CHATTY}; {HOLD}", resources={"device": "npu:1"})
            ends = client.jobs.submit(name="ends", command=f"{HOLD}; echo over; exit 5")
            for job in (chatty, ends):
                wait_until(lambda job=job: job.refresh().state is JobState.RUNNING)  # type: ignore[misc]
            disk.fill()
            acknowledged = []
            with pytest.raises(StorageFull, match="free space"):  # noqa: PT012  some fit into pages that are there
                for number in range(500):
                    acknowledged.append(client.jobs.submit(name=f"late-{number}", command="echo late").id)
            # what was stored can be read
            assert client.jobs.get(chatty.id).state is JobState.RUNNING
            hurt.let_go(ends.id)
            wait_until((hurt.data_dir / "work" / ends.id / "1/0/exit.json").exists)
            disk.empty()
            hurt.let_go(chatty.id)
            after = client.jobs.submit(name="after", command="echo after")
            assert after.wait().state is JobState.SUCCEEDED
            assert chatty.wait().state is JobState.SUCCEEDED
            assert b"".join(chatty.raw_log()) == CHATTY_TEXT
            ends.wait()
            assert (ends.reason.code, ends.details.attempts[0].tasks[0].exit_code) == ("exit_code", 5)
            for job_id in acknowledged:
                assert client.jobs.get(job_id).wait().state is JobState.SUCCEEDED
        assert "Traceback" not in hurt.said()
        check_at_rest(hurt.data_dir, footprint)

    def test_a_server_that_starts_without_room_can_be_read(
        self, hurt: RunningServer, footprint: Footprint, small_disk: Mount
    ) -> None:
        disk = small_disk(hurt.data_dir, "12m")
        small_disk(hurt.data_dir / "work", "16m")
        with hurt.start().client() as client:
            job = client.jobs.submit(name="before", command=f"{HOLD}; echo fine")
            wait_until(lambda: job.refresh().state is JobState.RUNNING)
        hurt.kill()
        disk.fill()
        with hurt.start().client() as client:
            assert client.jobs.get(job.id).name == "before"
            with pytest.raises(StorageFull, match="free space"):
                client.jobs.submit(name="late", command="true", env={"LONG": "x" * 100_000})
            hurt.let_go(job.id)
            wait_until(lambda: "free space" in hurt.said())
            disk.empty()
            assert client.jobs.get(job.id).wait().state is JobState.SUCCEEDED
            assert client.jobs.submit(name="after", command="true").wait().state is JobState.SUCCEEDED
        assert "Traceback" not in hurt.said()
        check_at_rest(hurt.data_dir, footprint)


def test_a_key_file_is_written_whole_or_not_at_all(small_disk: Mount, tmp_path: Path) -> None:
    disk = small_disk(tmp_path / "disk", "1m")
    disk.fill()
    with pytest.raises(Unavailable, match="No space left"):
        Sealer(disk.path / "secret.key")
    disk.empty()
    key = disk.path / "secret.key"
    token = Sealer(key).token("train-1", 1)
    assert Sealer(key).token("train-1", 1) == token
    assert key.stat().st_mode & 0o777 == 0o600
