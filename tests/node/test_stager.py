"""The stager as the shim runs it: a process of its own against a real HTTP server."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.fakes.run_server import RunServer
from tests.support.tasks import make_task

from danlu.node.stage import stager
from danlu.node.task import TASK, TaskCache, TaskInput, TaskOutput, to_json
from danlu.testing.store_server import StoreServer, running_store
from danlu.testing.waiting import HANG_SECONDS, wait_until

PATIENCE = {"in_patience_seconds": 100 * HANG_SECONDS, "out_patience_seconds": 100 * HANG_SECONDS}
BIG = os.urandom(1 << 16) * 64  # 4 MiB


@pytest.fixture
def store() -> Iterator[StoreServer]:
    with running_store() as store:
        yield store


class Stager:
    """One run of the script."""

    def __init__(self, folder: Path, store: StoreServer | RunServer, direction: str, **task: object) -> None:
        self.folder = folder
        output = TaskOutput(str(folder / "ml/output"), "store://out/job/", while_running=True)
        description = make_task(**{"server_url": store.url, **PATIENCE, "outputs": (output,), **task})
        (folder / "ml/output").mkdir(parents=True, exist_ok=True)
        (folder / TASK).write_text(to_json(description))
        (folder / "token").write_text(store.token)
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", stager.__file__, direction, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def finish(self) -> dict[str, str] | None:
        """Say that no more files will come, wait for the end, and return the failure."""
        out, err = self.process.communicate()
        self.said = err.decode()
        assert "Traceback" not in self.said
        return json.loads(out) if out else None


def fetch(
    folder: Path, store: StoreServer, source: str, *, to: str = "ml/data", **task: object
) -> dict[str, str] | None:
    return Stager(folder, store, "in", inputs=(TaskInput(source, str(folder / to)),), **task).finish()


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


class TestIn:
    def test_a_folder_is_fetched_with_its_names(self, tmp_path: Path, store: StoreServer) -> None:
        store.objects = {"b/set/a b/%41.txt": b"1", "b/set/深.txt": b"2", "b/settings": b"not this", "b/set/": b""}
        assert fetch(tmp_path, store, "store://b/set/") is None
        assert tree(tmp_path / "ml/data") == {"a b/%41.txt": b"1", "深.txt": b"2"}

    def test_an_object_becomes_the_file_that_is_named(self, tmp_path: Path, store: StoreServer) -> None:
        store.objects = {"b/x.bin": BIG, "b/x.bin.old": b"no"}
        assert fetch(tmp_path, store, "store://b/x.bin") is None
        assert (tmp_path / "ml/data").read_bytes() == BIG

    def test_an_object_goes_into_a_folder_that_is_there(self, tmp_path: Path, store: StoreServer) -> None:
        store.objects = {"b/train.py": b"print()"}
        (tmp_path / "ml/code").mkdir(parents=True)
        assert fetch(tmp_path, store, "store://b/train.py", to="ml/code") is None
        assert tree(tmp_path / "ml/code") == {"train.py": b"print()"}

    def test_a_tree_has_its_execute_bits(self, tmp_path: Path, store: StoreServer) -> None:
        digest = store.add_tree({"run": b"#!/bin/sh\n", "lib/a.py": b"", "lib/b.py": b""}, executable=("run",))
        assert fetch(tmp_path, store, f"tree:{digest}") is None
        modes = {path: os.stat(tmp_path / "ml/data" / path).st_mode & 0o777 for path in ("run", "lib/a.py")}
        assert modes == {"run": 0o755, "lib/a.py": 0o644}

    def test_an_empty_tree_is_a_folder(self, tmp_path: Path, store: StoreServer) -> None:
        assert fetch(tmp_path, store, f"tree:{store.add_tree({})}") is None
        assert (tmp_path / "ml/data").is_dir()

    def test_bytes_that_are_not_what_was_announced_are_not_kept(self, tmp_path: Path, store: StoreServer) -> None:
        digest = store.add_tree({"a": b"right"})
        store.blobs = dict.fromkeys(store.blobs, b"wrong")
        failure = fetch(tmp_path, store, f"tree:{digest}", in_patience_seconds=0.5)
        assert failure is not None
        assert failure["reason"] == "staging_failed"
        assert not (tmp_path / "ml/data/a").exists()

    @pytest.mark.parametrize("source", ["store://b/none", "store://b/none/", f"tree:{'0' * 64}"])
    def test_what_does_not_exist_is_named(self, tmp_path: Path, store: StoreServer, source: str) -> None:
        failure = fetch(tmp_path, store, source)
        assert failure is not None
        assert failure["reason"] == "input_missing"
        assert source in failure["message"]

    def test_a_name_that_leaves_the_folder_is_refused(self, tmp_path: Path, store: StoreServer) -> None:
        store.objects = {"b/set/../../../../../../tmp/danlu-evil": b"x", "b/set/ok": b"y"}
        failure = fetch(tmp_path, store, "store://b/set/")
        assert failure is not None
        assert failure["reason"] == "input_missing"
        assert not Path("/tmp/danlu-evil").exists()

    def test_a_broken_transfer_is_made_again(self, tmp_path: Path, store: StoreServer) -> None:
        store.objects = {"b/x": BIG}
        store.fail_after_bytes = 1 << 20
        assert fetch(tmp_path, store, "store://b/x") is None
        assert (tmp_path / "ml/data").read_bytes() == BIG
        assert sum("objects/x" in request for request in store.requests) == 2

    def test_a_server_that_is_away_is_waited_for(self, tmp_path: Path, store: StoreServer) -> None:
        store.objects = {f"b/s/{number}": b"x" * number for number in range(50)}
        store.go()
        threading.Timer(1.0, store.come).start()
        assert fetch(tmp_path, store, "store://b/s/") is None
        assert len(tree(tmp_path / "ml/data")) == 50

    def test_patience_has_an_end(self, tmp_path: Path, store: StoreServer) -> None:
        store.go()
        failure = fetch(tmp_path, store, "store://b/s/", in_patience_seconds=1)
        assert failure is not None
        assert failure["reason"] == "staging_failed"
        assert "refused" in failure["message"]

    def test_a_refused_token_ends_it_at_once(self, tmp_path: Path, store: StoreServer) -> None:
        run = Stager(tmp_path, store, "in", inputs=(TaskInput("store://b/s/", str(tmp_path / "ml/data")),))
        store.token = "another"
        failure = run.finish()
        assert failure is not None
        assert failure["reason"] == "staging_failed"
        assert "401" in failure["message"]

    def test_the_token_is_not_said(self, tmp_path: Path, store: StoreServer) -> None:
        store.token = "very-secret-token"
        run = Stager(tmp_path, store, "in", inputs=(TaskInput("store://b/s/", str(tmp_path / "ml/data")),))
        line = (
            Path(f"/proc/{run.process.pid}/cmdline").read_bytes()
            + Path(f"/proc/{run.process.pid}/environ").read_bytes()
        )
        failure = run.finish()
        assert b"very-secret-token" not in line
        assert "very-secret-token" not in run.said + json.dumps(failure)


class TestMany:
    """Small files travel together, large ones in ranges of their own."""

    def test_small_inputs_come_in_batches(self, tmp_path: Path, store: StoreServer) -> None:
        store.objects = {f"b/set/{number:04d}": b"x" * number for number in range(1000)}
        assert fetch(tmp_path, store, "store://b/set/") is None
        assert tree(tmp_path / "ml/data") == {f"{number:04d}": b"x" * number for number in range(1000)}
        assert len(store.requests) < 30

    def test_small_files_of_a_tree_come_in_batches(self, tmp_path: Path, store: StoreServer) -> None:
        files = {f"lib/{number}.py": b"# %d" % (number // 2) for number in range(1000)}
        assert fetch(tmp_path, store, f"tree:{store.add_tree({**files, 'big': BIG})}") is None
        assert tree(tmp_path / "ml/data") == {"big": BIG, **files}
        assert len(store.requests) < 10

    def test_small_outputs_go_in_batches(self, tmp_path: Path, store: StoreServer) -> None:
        out = tmp_path / "ml/output"
        out.mkdir(parents=True)
        for number in range(1000):
            (out / str(number)).write_bytes(b"x" * number)
        assert Stager(tmp_path, store, "out").finish() is None
        assert store.objects == {f"out/job/{number}": b"x" * number for number in range(1000)}
        assert len(store.requests) < 30


class TestCache:
    def stage(self, folder: Path, store: StoreServer, cache: Path, source: str, **task: Any) -> dict[str, bytes]:
        folder.mkdir(exist_ok=True)
        assert fetch(folder, store, source, cache=TaskCache(str(cache), 1 << 30), **task) is None
        return tree(folder / "ml/data")

    def test_the_second_task_fetches_nothing(self, tmp_path: Path, store: StoreServer) -> None:
        cache = tmp_path / "cache"
        cache.mkdir()
        store.objects = {"b/set/big": BIG}
        store.tells_digests = True
        code = store.add_tree({"run": b"#!/bin/sh", "a/b.py": b"x", "weights": BIG + b"x"}, executable=("run",))
        for source, content in (
            ("store://b/set/", {"big": BIG}),
            (f"tree:{code}", {"run": b"#!/bin/sh", "a/b.py": b"x", "weights": BIG + b"x"}),
        ):
            assert self.stage(tmp_path / "first", store, cache, source) == content
            store.requests.clear()
            assert self.stage(tmp_path / "second", store, cache, source) == content
            moved = [
                one for one in store.requests if "reads" in one or ("GET" in one and ("/big" in one or "blobs" in one))
            ]
            assert moved == []
            for one in ("first", "second"):
                shutil.rmtree(tmp_path / one)

    @pytest.mark.skipif(os.geteuid() != 0, reason="changing the user needs root")
    def test_as_the_user_of_the_job_who_may_not_pass_the_folders_above(
        self, tmp_path: Path, store: StoreServer
    ) -> None:
        uid = 1_000_000_001
        work = tmp_path / "work"
        cache = work / ".cache" / str(uid)
        cache.mkdir(parents=True)
        os.chown(cache, uid, uid)
        for closed in (cache, cache.parent):
            closed.chmod(0o700)
        code = store.add_tree({"a": b"x", "big": BIG})
        for name in ("first", "second"):
            (work / name / "ml").mkdir(parents=True)
            os.chown(work / name / "ml", uid, uid)
            for folder in (work / name, *(work / name).parents[:-2]):
                folder.chmod(folder.stat().st_mode | 0o011)
            store.requests.clear()
            assert self.stage(work / name, store, cache, f"tree:{code}", uid=uid) == {"a": b"x", "big": BIG}
        assert [one for one in store.requests if "blobs" in one] == []


class TestOut:
    def test_settled_files_arrive_while_the_command_runs(self, tmp_path: Path, store: StoreServer) -> None:
        run = Stager(tmp_path, store, "out")
        (tmp_path / "ml/output/metrics").write_bytes(b"1")
        wait_until(lambda: store.objects.get("out/job/metrics") == b"1")
        (tmp_path / "ml/output/metrics").write_bytes(b"12")
        wait_until(lambda: store.objects.get("out/job/metrics") == b"12")
        assert run.finish() is None
        assert sum(request.startswith("PUT") for request in store.requests) == 2

    def test_the_last_pass_brings_everything_once(self, tmp_path: Path, store: StoreServer) -> None:
        out = tmp_path / "ml/output"
        (out / "deep/er").mkdir(parents=True)
        (out / "deep/er/empty").write_bytes(b"")
        (out / "big").write_bytes(BIG)
        outputs = (
            TaskOutput(str(out), "store://out/job/", while_running=True),
            TaskOutput(str(tmp_path / "ml/model"), "store://out/job/model/", while_running=False),
        )
        (tmp_path / "ml/model").mkdir()
        (tmp_path / "ml/model/w").write_bytes(b"weights")
        assert Stager(tmp_path, store, "out", outputs=outputs).finish() is None
        assert store.objects == {"out/job/deep/er/empty": b"", "out/job/big": BIG, "out/job/model/w": b"weights"}

    def test_links_and_pipes_are_left_out(self, tmp_path: Path, store: StoreServer) -> None:
        out = tmp_path / "ml/output"
        out.mkdir(parents=True)
        (out / "file").write_bytes(b"mine")
        (out / "link").symlink_to("/etc/passwd")
        (out / "folder").symlink_to("/etc")
        os.mkfifo(out / "pipe")
        assert Stager(tmp_path, store, "out").finish() is None
        assert store.objects == {"out/job/file": b"mine"}

    def test_a_folder_that_became_a_link_is_left_out(self, tmp_path: Path, store: StoreServer) -> None:
        (tmp_path / "ml").mkdir()
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "elsewhere/file").write_bytes(b"not yours")
        (tmp_path / "ml/output").symlink_to(tmp_path / "elsewhere")
        assert Stager(tmp_path, store, "out").finish() is None
        assert store.objects == {}

    def test_a_file_that_keeps_changing_arrives_whole(self, tmp_path: Path, store: StoreServer) -> None:
        """Each version that lands is one that existed: the server checks the digest that was sent with it."""
        out = tmp_path / "ml/output"
        out.mkdir(parents=True)
        is_over = threading.Event()

        def write() -> None:
            number = 0
            while not is_over.is_set():
                number += 1
                (out / "file").write_bytes(bytes([number % 256]) * (1 << 20))

        writer = threading.Thread(target=write)
        writer.start()
        run = Stager(tmp_path, store, "out")
        for name in ("first", "second"):  # so many passes were made meanwhile
            (out / name).write_bytes(b"x")
            wait_until(lambda name=name: f"out/job/{name}" in store.objects)  # type: ignore[misc]
        is_over.set()
        writer.join()
        assert run.finish() is None
        assert store.objects["out/job/file"] == (out / "file").read_bytes()

    def test_a_server_that_goes_and_comes_back(self, tmp_path: Path, store: StoreServer) -> None:
        out = tmp_path / "ml/output"
        out.mkdir(parents=True)
        for number in range(30):
            (out / f"{number}").write_bytes(b"x" * number)
        store.go()
        threading.Timer(1.5, store.come).start()
        assert Stager(tmp_path, store, "out").finish() is None
        assert len(store.objects) == 30

    def test_a_fenced_attempt_gives_up_at_once(self, tmp_path: Path, store: StoreServer) -> None:
        out = tmp_path / "ml/output"
        out.mkdir(parents=True)
        (out / "big").write_bytes(BIG)
        run = Stager(tmp_path, store, "out")
        store.token = "another"
        failure = run.finish()
        assert failure is not None
        assert failure["reason"] == "upload_failed"
        assert "401" in failure["message"]
        assert str(tmp_path) in failure["message"]

    def test_it_ends_when_the_server_stays_away(self, tmp_path: Path, store: StoreServer) -> None:
        out = tmp_path / "ml/output"
        out.mkdir(parents=True)
        (out / "x").write_bytes(b"x")
        store.go()
        failure = Stager(tmp_path, store, "out", out_patience_seconds=1).finish()
        assert failure is not None
        assert failure["reason"] == "upload_failed"

    def test_names_that_the_store_does_not_take_cost_only_themselves(self, tmp_path: Path, store: StoreServer) -> None:
        out = tmp_path / "ml/output"
        out.mkdir(parents=True)
        odd = [b".partial.x", b"back\\slash", b"new\nline", b"latin-\xe9", b"x" * 250, b"refused"]
        for name in (*odd, *(b"good-%d" % number for number in range(50)), b"model.bin"):
            Path(os.fsdecode(os.path.join(os.fsencode(out), name))).write_bytes(b"x")
        store.refused = {"out/job/refused"}
        failure = Stager(tmp_path, store, "out").finish()
        assert failure is not None
        assert failure["reason"] == "upload_failed"
        assert failure["message"].startswith("6 of 57 files could not be stored: ml/output/.partial.x: names beginning")
        assert "; and 3 more; the files are kept in " in failure["message"]
        failure["message"].encode()  # a sentence, whatever the names are
        assert sorted(store.objects) == sorted(["out/job/model.bin", *(f"out/job/good-{n}" for n in range(50))])

    def test_one_refusal_names_the_file_and_what_the_store_said(self, tmp_path: Path, store: StoreServer) -> None:
        (tmp_path / "ml/output").mkdir(parents=True)
        for name in ("a", "b"):
            (tmp_path / "ml/output" / name).write_bytes(b"x")
        store.refused = {"out/job/a"}
        failure = Stager(tmp_path, store, "out").finish()
        assert failure is not None
        assert "1 of 2 files could not be stored: ml/output/a: 422 the test store says 422;" in failure["message"]
        assert store.objects == {"out/job/b": b"x"}

    def test_a_refusal_while_the_command_runs_is_not_the_last_word(self, tmp_path: Path, store: StoreServer) -> None:
        run = Stager(tmp_path, store, "out")
        store.refused = {"out/job/a"}
        (tmp_path / "ml/output/a").write_bytes(b"x")
        wait_until(lambda: any(request.endswith("/a") for request in store.requests))
        (tmp_path / "ml/output/b").write_bytes(b"later")
        wait_until(lambda: store.objects.get("out/job/b") == b"later")
        assert sum(request.endswith("/a") for request in store.requests) == 1, "asked again and again"
        store.refused = set()
        assert run.finish() is None
        assert store.objects == {"out/job/a": b"x", "out/job/b": b"later"}

    @pytest.mark.skipif(os.geteuid() != 0, reason="changing the user needs root")
    def test_what_cannot_be_read_is_named(self, tmp_path: Path, store: StoreServer) -> None:
        out = tmp_path / "ml/output"
        (out / "closed").mkdir(parents=True)
        (out / "closed/inside").write_bytes(b"x")
        (out / "closed").chmod(0)
        (out / "open").write_bytes(b"x")
        (out / "private").write_bytes(b"x")
        (out / "private").chmod(0)
        for folder in (tmp_path, *tmp_path.parents[:-2]):
            folder.chmod(folder.stat().st_mode | 0o011)
        failure = Stager(tmp_path, store, "out", uid=1_000_000_001).finish()
        assert failure is not None
        assert "2 of 3 files could not be stored: ml/output/closed: Permission denied" in failure["message"]
        assert store.objects == {"out/job/open": b"x"}

    def test_a_breakdown_is_a_failed_upload_and_says_where_the_files_are(
        self, tmp_path: Path, store: StoreServer
    ) -> None:
        run = Stager(tmp_path, store, "out", outputs=({"path": str(tmp_path / "ml/output")},))
        out, _ = run.process.communicate()
        failure = json.loads(out)
        assert failure["reason"] == "upload_failed"
        assert "outputs[0].to: expected text, got nothing" in failure["message"]
        assert f"the files are kept in {tmp_path}" in failure["message"]

    def test_an_upload_carries_its_digest(self, tmp_path: Path, store: StoreServer) -> None:
        out = tmp_path / "ml/output"
        out.mkdir(parents=True)
        (out / "x").write_bytes(BIG)
        assert Stager(tmp_path, store, "out").finish() is None
        assert hashlib.sha256(store.objects["out/job/x"]).digest() == hashlib.sha256(BIG).digest()
