"""Syncs from anywhere, at any time, as often as one likes: each byte of a journal arrives once."""

from __future__ import annotations

import os
import random
import shutil
import threading
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.fakes.run_server import RunServer, accepts_all
from tests.support.drafts import write_artifact

from danlu import journal, track
from danlu.cli.tracking.sync_artifacts import LATER, sync_artifacts
from danlu.testing.waiting import wait_until
from danlu.track.folders import find_runs
from danlu.track.reading import open_journals, read_run
from danlu.track.sync import address
from danlu.track.sync.address import Address, connected
from danlu.track.sync.artifacts import ArtifactSync
from danlu.track.sync.syncing import ServerAway, Synced, SyncedArtifact, sync_all, sync_artifact
from danlu.transfer.api import Api
from danlu.transfer.journals import send_journal


def api_of(minded: RunServer) -> AbstractContextManager[Api]:
    return connected(Address(minded.url, "key"))


def sync_once(minded: RunServer, folder: str = ".danlu") -> list[Synced]:
    with api_of(minded) as api:
        return sync_all(api, folder)


def make_run(name: str, num_steps: int = 300) -> track.Run:
    run = track.start(name, {"lr": 0.1})
    for step in range(num_steps):
        run.log({"loss": step}, step=step)
    run.finish()
    return run


def on_disk(run: track.Run) -> dict[tuple[str, str], bytes]:
    return {(run.id, one.journal_id): one.data for one in open_journals(run.path)}


def sync_until_done(minded: RunServer, folder: str) -> list[Synced]:
    for _ in range(2000):
        try:
            return sync_once(minded, folder)
        except ServerAway:
            continue
    raise AssertionError("never got through")


def settled(run: track.Run) -> dict[tuple[str, str], bytes]:
    """The journals once the companion is done with the run."""

    def look() -> dict[tuple[str, str], bytes]:
        if len(on_disk(run)) < 2 or _is_looked_after(run.path):  # has not begun, or may write last words
            return {}
        return on_disk(run)

    return wait_until(look)


def _is_looked_after(folder: str) -> bool:
    return any(folder in path.read_text() for path in Path(os.environ["XDG_RUNTIME_DIR"]).rglob("orders/*.json"))


class TestSync:
    def test_gives_the_same_bytes_and_nothing_twice(self) -> None:
        run = make_run("mnist")
        wanted = settled(run)
        with RunServer().serving() as minded:
            (first,) = sync_once(minded)
            (second,) = sync_once(minded)
        assert {key: bytes(data) for key, data in minded.journals.items()} == wanted
        assert (first.num_bytes, second.num_bytes) == (sum(map(len, wanted.values())), 0)
        assert minded.runs[run.id]["name"] == "mnist"

    def test_a_deleted_run_is_said_and_the_others_go_on(self) -> None:
        gone, kept = make_run("gone"), make_run("kept")
        with RunServer().serving() as minded:
            minded.deleted.add(gone.id)
            problems = {done.name: done.problem for done in sync_once(minded)}
        assert problems == {"gone": f"run {gone.id} was deleted", "kept": ""}
        assert any(run == kept.id for run, _ in minded.journals)

    def test_many_at_once_over_a_bad_line(self) -> None:
        run = make_run("mnist", num_steps=20_000)
        wanted = settled(run)
        with RunServer(mischief=0.3, seed=5).serving() as minded:
            workers = [threading.Thread(target=sync_until_done, args=(minded, ".danlu")) for _ in range(4)]
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
        assert {key: bytes(data) for key, data in minded.journals.items()} == wanted

    def test_while_the_run_is_written(self) -> None:
        with RunServer().serving() as minded:
            run = track.start("live")
            for step in range(50):
                run.log({"loss": step}, step=step, flush=True)
                if step % 5 == 0:
                    sync_once(minded, run.path)
            run.finish()
            wanted = settled(run)
            sync_once(minded, run.path)
        assert {key: bytes(data) for key, data in minded.journals.items()} == wanted

    def test_two_machines_with_one_folder(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Runs of both lie in it, both sync it, and neither takes the other's running process for dead."""
        here = make_run("here")
        wanted = settled(here)
        elsewhere = journal.new_journal_id()
        header = {**read_run(here.path).header, "run": journal.new_run_id(), "name": "there"}
        header["environment"] = {**header["environment"], "host": "another-machine", "pid": 1, "pid_started": 1}
        folder = Path(here.path).parent / f"there-{header['run']}"
        folder.mkdir()
        data = journal.file_header(elsewhere) + journal.encode_run(header)
        (folder / f"{elsewhere}.journal").write_bytes(data)
        with RunServer().serving() as minded:
            for _ in range(2):
                sync_until_done(minded, ".danlu")
        assert {key: bytes(value) for key, value in minded.journals.items()} == {
            **wanted,
            (header["run"], elsewhere): data,
        }
        assert read_run(str(folder)).state is None

    def test_a_run_that_died_here_unnoticed_is_marked_once(self) -> None:
        run = make_run("killed")
        settled(run)
        files = open_journals(run.path)
        own = next(one for one in files if one.header["writer"] == "process")
        for one in files:
            os.unlink(one.path)
        header = {**own.header, "environment": {**own.header["environment"], "pid": 999_999_999}}
        Path(own.path).write_bytes(journal.file_header(own.journal_id) + journal.encode_run(header))
        with RunServer().serving() as minded:
            for _ in range(3):
                sync_once(minded)
        assert read_run(run.path).state == "died"
        assert len(minded.journals) == 2

    def test_a_damaged_tail_stays_behind(self) -> None:
        run = make_run("cut")
        wanted = settled(run)
        for one in open_journals(run.path):
            with open(one.path, "ab") as file:
                file.write(os.urandom(100))
        with RunServer().serving() as minded:
            sync_once(minded)
        assert {key: bytes(data) for key, data in minded.journals.items()} == wanted


@pytest.fixture(scope="module")
def frames() -> list[bytes]:
    row = journal.row_struct(1).pack
    chance = random.Random(3)
    made = [journal.encode_run({"run": "run-" + "a" * 26, "name": "x"})]
    made.append(journal.encode_layout(journal.Layout(1, "train", ("loss",))))
    for step in range(60):
        rows = [row(step, chance.uniform(-1e9, 1e9), 0.0, 1.0) for _ in range(chance.randint(1, 5))]
        made.append(journal.encode_points(1, rows))
    return made


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cuts=st.lists(st.integers(0, 6000), min_size=1, max_size=5), seed=st.integers(0, 2**16))
def test_copies_cut_at_any_byte_sync_to_the_whole(
    cuts: list[int], seed: int, frames: list[bytes], tmp_path: Path
) -> None:
    """Several copies of one journal, each cut somewhere, sent in any order at once over a bad line; then the whole."""
    journal_id = "ab" * 16
    whole = journal.file_header(journal_id) + b"".join(frames)
    folder = tmp_path / str(seed)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    copies = []
    for number, cut in enumerate(cuts):
        path = folder / f"{number}.journal"
        path.write_bytes(whole[:cut])
        copies.append(str(path))
    with RunServer(mischief=0.2, seed=seed).serving() as minded:

        def send(path: str) -> None:
            while True:
                try:
                    with api_of(minded) as api:
                        send_journal(api, "run-x", path)
                    return
                except ServerAway:
                    continue

        workers = [threading.Thread(target=send, args=(path,)) for path in copies]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        has = bytes(minded.journals.get(("run-x", journal_id), b""))
        assert whole.startswith(has)
        longest = max((journal.scan(whole[:cut]).end for cut in cuts if cut > journal.FILE_HEADER_BYTES), default=0)
        assert len(has) == (longest if longest > journal.FILE_HEADER_BYTES else 0)
        (folder / "whole.journal").write_bytes(whole)
        send(str(folder / "whole.journal"))
        assert bytes(minded.journals[("run-x", journal_id)]) == whole


class TestUpload:
    def test_waits_until_it_is_there(self, monkeypatch: pytest.MonkeyPatch) -> None:
        run = make_run("mnist")
        with RunServer().serving() as minded:
            monkeypatch.setenv("DANLU_TRACK", "on")
            monkeypatch.setenv("DANLU_URL", minded.url)
            monkeypatch.setenv("DANLU_API_KEY", "key")
            assert run.upload(folder="examples", make_folder=True)
        assert minded.runs[run.id]["folder"] == "examples"

    def test_without_a_server_it_is_one_warning(self, caplog: pytest.LogCaptureFixture) -> None:
        run = make_run("mnist")
        assert run.upload() is False
        assert run.upload(conflict="maybe") is False
        assert [record.getMessage() for record in caplog.records] == [
            "danlu.track: mnist was not uploaded: no server and key are known; `danlu login` keeps them"
        ]


class TestArtifacts:
    @pytest.mark.parametrize(("status", "is_temporary"), [(507, True), (503, True), (422, False)])
    def test_who_waits_is_told_which_refusal_may_pass(self, tmp_path: Path, status: int, is_temporary: bool) -> None:
        folder = write_artifact(tmp_path, "art-z", at=1.0)
        with RunServer().serving() as minded, api_of(minded) as api:
            minded.refuse = lambda *_: status
            assert sync_artifact(api, folder) == SyncedArtifact(
                folder, "art-z", "model", None, 0, "not now", is_temporary=is_temporary
            )
            minded.refuse = accepts_all
            done = sync_artifact(api, folder)
        assert done == SyncedArtifact(folder, "art-z", "model", 1, len("art-z"), "")

    def test_versions_of_one_name_keep_their_order(self, tmp_path: Path) -> None:
        for at, artifact in enumerate(["art-z", "art-y"]):
            write_artifact(tmp_path, artifact, at=float(at))
        write_artifact(tmp_path, "art-x", at=2.0, name="other")
        said: list[str] = []
        with RunServer().serving() as minded:
            minded.refuse = lambda _, __, body: 507 if b"art-z" in body else 0
            sync = ArtifactSync(said.append)
            sync.look_into(Address(minded.url, "key"), [str(tmp_path)], soon=True)
            wait_until(lambda: said and minded.versions == {"other": ["art-x"]})
            minded.refuse = accepts_all
            sync.look_into(Address(minded.url, "key"), [str(tmp_path)], soon=True)
            wait_until(lambda: minded.versions == {"other": ["art-x"], "model": ["art-z", "art-y"]})
            sync.look_into(None, [], soon=False)

    def test_danlu_sync_keeps_the_order_of_versions_too(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(address, "PATIENCE_SECONDS", 0.1)
        folders = [write_artifact(tmp_path, name, at=at) for at, name in enumerate(["art-z", "art-y"])]
        folders.append(write_artifact(tmp_path, "art-x", at=2.0, name="other"))
        with RunServer().serving() as minded:
            minded.refuse = lambda _, __, body: 507 if b"art-z" in body else 0
            done = sync_artifacts(Address(minded.url, "key"), folders, is_quiet=True)
            assert [(one.artifact_id, one.problem) for one in done] == [
                ("art-z", "not now"),
                ("art-y", LATER),
                ("art-x", ""),
            ]
            minded.refuse = accepts_all
            done = sync_artifacts(Address(minded.url, "key"), folders, is_quiet=True)
            assert [(one.version, one.problem) for one in done] == [(1, ""), (2, ""), (1, "")]


def test_the_companion_syncs_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    with RunServer().serving() as minded:
        monkeypatch.setenv("DANLU_TRACK", "on")
        monkeypatch.setenv("DANLU_URL", minded.url)
        monkeypatch.setenv("DANLU_API_KEY", "key")
        run = make_run("live")
        wanted = settled(run)
        assert {key: bytes(data) for key, data in minded.journals.items()} == wanted
    assert list(find_runs(".danlu")) == [os.path.relpath(run.path)]
