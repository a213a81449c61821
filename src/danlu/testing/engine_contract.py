"""The contract of `danlu.engines.base.Engine` as tests. Subclass it and give it a fixture `engine`:

class TestMyEngine(EngineContract):
    @pytest.fixture
    def engine(self) -> Engine: ...

    def reopen(self, engine): return a second engine object that knows only what is on disk or in the cluster
"""

from __future__ import annotations

import hashlib
import socket
from collections.abc import Iterator

import pytest

from danlu.engines.base import CanConnect, Credentials, Engine, Handle, Observation
from danlu.errors import PortClosed, Unsupported, WrongState
from danlu.spec.states import TaskState
from danlu.testing.engines import OUTPUT, Starter
from danlu.testing.gates import HOLD, UNTIL_STOPPED
from danlu.testing.store_server import StoreServer, running_store
from danlu.testing.waiting import HANG_SECONDS, wait_until

NUMBERS = "awk 'BEGIN { for (i = 0; i < 200000; i++) print i }'"
NUMBERS_SHA256 = hashlib.sha256("".join(f"{number}\n" for number in range(200000)).encode()).hexdigest()

_ECHO = """
import os, socket, threading
rank = int(os.environ["DANLU_RANK"])
own = f"10.88.0.{rank + 1}"
def serve(host, port):
    try:
        listener = socket.create_server((host, port))
    except OSError:  # without a network of its own
        return
    def answer():
        while True:
            connection = listener.accept()[0]
            data = b"".join(iter(lambda: connection.recv(100), b""))
            connection.sendall(f"rank {rank} on {host}: ".encode() + data)
            connection.close()
    threading.Thread(target=answer).start()
serve(own, 8080)
serve("127.0.0.1", 8090 + rank)
print("listens", flush=True)
threading.Event().wait()
"""


class EngineContract:
    @pytest.fixture
    def engine(self) -> Engine:
        raise NotImplementedError("give the contract an engine")

    def reopen(self, engine: Engine) -> Engine:
        """Return another object for the same engine, as a restarted server would create it."""
        raise NotImplementedError

    @pytest.fixture
    def store(self) -> Iterator[StoreServer]:
        with running_store() as store:
            yield store

    @pytest.fixture
    def starter(self, engine: Engine, store: StoreServer) -> Iterator[Starter]:
        starter = Starter(engine, server_url=store.url, token=store.token)
        yield starter
        starter.clean_up()

    def test_a_command_that_ends_with_0_succeeds(self, starter: Starter) -> None:
        job = starter.start("echo hello; echo oops >&2")
        (seen,) = job.wait()
        assert (seen.state, seen.exit_code, seen.reason) == (TaskState.SUCCEEDED, 0, "")
        assert job.log() == "hello\noops\n"
        assert seen.log_bytes == len("hello\noops\n")
        assert seen.started_at is not None
        assert seen.ended_at is not None
        assert seen.started_at <= seen.ended_at

    def test_an_exit_code_is_passed_on(self, starter: Starter) -> None:
        (seen,) = starter.start("exit 42").wait()
        assert (seen.state, seen.exit_code, seen.reason) == (TaskState.FAILED, 42, "exit_code")

    def test_a_signal_is_told_from_an_exit_code(self, starter: Starter) -> None:
        (seen,) = starter.start("kill -SEGV $$").wait()
        assert (seen.state, seen.exit_code, seen.reason) == (TaskState.FAILED, 139, "killed_by_signal")
        assert "SIGSEGV" in seen.message

    def test_a_word_that_cannot_be_executed_is_named(self, starter: Starter) -> None:
        (seen,) = starter.start(["trian.py", "--fast"]).wait()
        assert (seen.state, seen.reason) == (TaskState.FAILED, "command_not_found")
        assert "trian.py" in seen.message

    def test_a_failed_setup_is_told_from_a_failed_command(self, starter: Starter) -> None:
        (seen,) = starter.start("echo never", setup="echo preparing\nfalse").wait()
        assert (seen.state, seen.reason) == (TaskState.FAILED, "setup_failed")
        (seen,) = starter.start("exit 3", setup="export GREETING=hi").wait()
        assert (seen.state, seen.reason) == (TaskState.FAILED, "exit_code")

    def test_a_task_sees_its_plan(self, starter: Starter) -> None:
        job = starter.start(
            'echo "$DANLU_RANK $COLOUR $KEY"; pwd; cat "$DANLU_HYPERPARAMETERS"; cat "$DANLU_TOKEN_FILE"',
            env={"COLOUR": "red"},
            hyperparameters={"lr": 0.1},
            secrets={"KEY": "hidden"},
        )
        job.wait()
        assert job.log() == f'0 red hidden\n{job.plan.tasks[0].workdir}\n{{\n  "lr": 0.1\n}}\na-token'

    def test_secrets_are_not_in_the_environment_of_the_plan(self, starter: Starter) -> None:
        job = starter.start("true", secrets={"KEY": "hidden"})
        assert "hidden" not in job.plan.model_dump_json()

    def test_the_server_keeps_its_own_environment(self, starter: Starter, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("DANLU_API_KEY", "do-not-leak")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "do-not-leak")
        job = starter.start("env")
        job.wait()
        assert "DANLU_JOB_ID" in job.log()
        assert "do-not-leak" not in job.log()

    def test_all_tasks_of_a_gang_run(self, starter: Starter) -> None:
        job = starter.start("echo rank $DANLU_RANK", nodes=3)
        assert [seen.state for seen in job.wait()] == [TaskState.SUCCEEDED] * 3
        assert [job.log(rank) for rank in range(3)] == ["rank 0\n", "rank 1\n", "rank 2\n"]

    def test_tasks_reach_each_other_by_address(self, starter: Starter) -> None:
        job = starter.start(
            "import os, socket, time\n"
            "port = 20000 + int(os.environ['DANLU_JOB_ID'][-4:])\n"
            "if os.environ['DANLU_RANK'] == '0':\n"
            "    server = socket.create_server((os.environ['CHIEF_IP'], port))\n"
            "    print(server.accept()[0].recv(10).decode())\n"
            "else:\n"
            "    while True:\n"
            "        try:\n"
            "            socket.create_connection((os.environ['CHIEF_IP'], port)).send(b'hello')\n"
            "            break\n"
            "        except OSError:\n"
            "            time.sleep(0.05)\n".join(['python3 -c "', '"']),
            nodes=2,
        )
        assert [seen.state for seen in job.wait()] == [TaskState.SUCCEEDED] * 2
        assert job.log(0) == "hello\n"

    def test_starting_twice_starts_once(self, starter: Starter) -> None:
        job = starter.start(f"echo once; {UNTIL_STOPPED}", nodes=2)
        for rank in range(2):
            job.wait_for_log("once", rank=rank)
        again = starter.engine.start(job.plan, Credentials(starter.server_url, starter.token))
        assert list(again) == list(job.handles)
        job.stop()
        assert [job.log(rank) for rank in range(2)] == ["once\n", "once\n"]

    def test_a_restarted_server_finds_its_tasks(self, starter: Starter) -> None:
        job = starter.start(f"echo before; {HOLD}; echo after; exit 7")
        job.wait(TaskState.RUNNING)
        reopened = self.reopen(starter.engine)
        (seen,) = reopened.poll(job.handles)
        assert seen is not None
        assert seen.state is TaskState.RUNNING
        job.let_go()
        job.wait()
        (seen,) = reopened.poll(job.handles)
        assert seen is not None
        assert (seen.state, seen.exit_code) == (TaskState.FAILED, 7)
        assert reopened.read_log(job.handles[0], 0, 100) == b"before\nafter\n"

    def test_a_port_of_a_task_is_reached(self, starter: Starter) -> None:
        """Ports on its own address and on loopback are reached; none if tasks have no private network."""
        engine = starter.engine
        if not isinstance(engine, CanConnect):
            pytest.skip(f"engine {engine.name!r} does not connect")
        job = starter.start(f"python3 -c '{_ECHO}'", nodes=2)
        for rank in range(2):
            job.wait_for_log("listens", rank=rank)
        if not engine.nodes()[0].has_own_network:
            with pytest.raises(Unsupported):
                engine.connect(job.handles[0], 8080)
            return
        for rank in range(2):
            for port, where in ((8080, f"10.88.0.{rank + 1}"), (8090 + rank, "127.0.0.1")):
                with engine.connect(job.handles[rank], port) as connection:
                    connection.sendall(b"hello")
                    connection.shutdown(socket.SHUT_WR)
                    with connection.makefile("rb") as answer:
                        assert answer.read() == f"rank {rank} on {where}: hello".encode()
        with pytest.raises(PortClosed):
            engine.connect(job.handles[0], 8081)
        job.stop()
        with pytest.raises(WrongState):
            engine.connect(job.handles[0], 8080)

    def test_a_port_of_the_machine_is_not_reached(self, starter: Starter) -> None:
        engine = starter.engine
        if not isinstance(engine, CanConnect):
            pytest.skip(f"engine {engine.name!r} does not connect")
        job = starter.start(UNTIL_STOPPED)
        job.wait(TaskState.RUNNING)
        with socket.create_server(("127.0.0.1", 0)) as listener, pytest.raises((PortClosed, Unsupported)):
            engine.connect(job.handles[0], listener.getsockname()[1])

    def test_an_unknown_task_is_lost(self, engine: Engine) -> None:
        unknown = Handle(job_id="train-1", attempt=1, rank=0, node=engine.nodes()[0].name)
        (seen,) = engine.poll([unknown])
        assert isinstance(seen, Observation)
        assert seen.state is TaskState.LOST
        assert engine.read_log(unknown, 0, 10) == b""
        assert list(engine.read_marks(unknown, 0)) == []
        engine.stop([unknown], 1.0)
        engine.forget("train-1", 1)

    def test_a_log_is_read_by_offset_byte_for_byte(self, starter: Starter) -> None:
        job = starter.start(NUMBERS)
        (seen,) = job.wait()
        assert hashlib.sha256(job.log_bytes()).hexdigest() == NUMBERS_SHA256
        assert starter.engine.read_log(job.handles[0], 2, 4) == b"1\n2\n"
        assert starter.engine.read_log(job.handles[0], seen.log_bytes, 10) == b""

    def test_marks_say_when_the_log_grew(self, starter: Starter) -> None:
        job = starter.start(f"echo one; {HOLD}; echo two")
        wait_until(lambda: [mark.offset for mark in starter.engine.read_marks(job.handles[0], 0)] == [4], job.observe)
        job.let_go()
        (seen,) = job.wait()
        marks = starter.engine.read_marks(job.handles[0], 0)
        assert [mark.offset for mark in marks][-1] == seen.log_bytes
        assert sorted(marks, key=lambda mark: (mark.at, mark.offset)) == list(marks)
        assert [mark.offset for mark in starter.engine.read_marks(job.handles[0], 4)] == [8]
        piece = starter.engine.read_log_piece(job.handles[0], 4, limit=1 << 20, after_mark=4)
        assert (piece.data, [mark.offset for mark in piece.marks]) == (b"two\n", [8])

    def test_what_many_tasks_use_is_asked_at_once(self, starter: Starter) -> None:
        job = starter.start("true")
        job.wait()
        unknown = Handle(job_id="train-1", attempt=1, rank=0, node=job.handles[0].node)
        asked = [(unknown, 0, 0), (job.handles[0], 0, 0)]
        assert list(starter.engine.read_usages(asked)) == [None, starter.engine.read_usage(*asked[1])]

    def test_stop_gives_time_to_save(self, starter: Starter) -> None:
        job = starter.start("trap 'sleep 0.3; echo saved; exit 5' TERM; echo ready; while :; do sleep 0.05; done")
        job.wait_for_log("ready")
        (seen,) = job.stop(grace_seconds=HANG_SECONDS)
        assert (seen.state, seen.exit_code) == (TaskState.STOPPED, 5)
        assert "saved" in job.log()

    def test_a_shorter_grace_counts(self, starter: Starter) -> None:
        job = starter.start("trap '' TERM; echo ready; while :; do sleep 0.05; done")
        job.wait_for_log("ready")
        job.wait(TaskState.RUNNING)
        starter.engine.stop(job.handles, 100 * HANG_SECONDS)
        assert job.observe()[0].state is TaskState.RUNNING
        starter.engine.stop(job.handles, 0.1)
        (seen,) = job.wait()
        assert (seen.state, seen.exit_code) == (TaskState.STOPPED, 137)

    def test_stop_of_an_ended_task_is_quiet(self, starter: Starter) -> None:
        job = starter.start("true")
        before = job.wait()
        starter.engine.stop(job.handles, 1.0)
        assert job.observe() == before

    def test_forget_removes_a_task_for_good(self, starter: Starter) -> None:
        job = starter.start("true")
        job.wait()
        starter.engine.forget(job.plan.job_id, 1)
        starter.engine.forget(job.plan.job_id, 1)
        assert job.observe()[0].state is TaskState.LOST

    def test_inputs_are_there_before_the_command(self, starter: Starter, store: StoreServer) -> None:
        store.objects.update({f"data/images/{number:03}.txt": b"%d\n" % number for number in range(250)})
        store.objects["data/words/one.txt"] = b"uno\n"
        digest = store.add_tree({"run.sh": b"#!/bin/sh\ncat lib/word\n", "lib/word": b"code\n"}, executable=("run.sh",))
        job = starter.start(
            './run.sh; cat "$DANLU_DATA_DIR/word"; ls "$DANLU_DATA_DIR/images" | wc -l; cat "$DANLU_DATA_DIR"/images/*',
            code={"tree": digest},
            data={"store://data/images/": "images", "store://data/words/one.txt": "word"},
        )
        (seen,) = job.wait()
        assert seen.state is TaskState.SUCCEEDED
        assert job.log() == "code\nuno\n250\n" + "".join(f"{number}\n" for number in range(250))

    def test_an_input_that_does_not_exist_is_named(self, starter: Starter) -> None:
        (seen,) = starter.start("echo never", data={"store://data/nothing/": "images"}).wait()
        assert (seen.state, seen.reason, seen.exit_code) == (TaskState.FAILED, "input_missing", None)
        assert "store://data/nothing/" in seen.message

    def test_outputs_land_in_the_store(self, starter: Starter, store: StoreServer) -> None:
        job = starter.start(
            'mkdir "$DANLU_OUTPUT_DIR/a"; echo result > "$DANLU_OUTPUT_DIR/a/b c.txt"; '
            'echo weights > "$DANLU_MODEL_DIR/m.bin"; ln -s /etc/passwd "$DANLU_OUTPUT_DIR/link"; exit 9'
        )
        (seen,) = job.wait()
        assert (seen.state, seen.exit_code, seen.reason) == (TaskState.FAILED, 9, "exit_code")
        assert seen.is_output_complete
        folder = f"{OUTPUT[len('store://') :]}{job.plan.job_id}"
        assert store.objects == {f"{folder}/a/b c.txt": b"result\n", f"{folder}/model/m.bin": b"weights\n"}

    def test_a_command_that_failed_may_have_output_that_did_not_arrive(
        self, starter: Starter, store: StoreServer
    ) -> None:
        job = starter.start(f'echo ready; {HOLD}; echo late > "$DANLU_OUTPUT_DIR/x"; exit 3')
        job.wait_for_log("ready")
        store.token = "another"
        job.let_go()
        (seen,) = job.wait()
        assert (seen.state, seen.reason, seen.exit_code) == (TaskState.FAILED, "exit_code", 3)
        assert not seen.is_output_complete

    def test_a_fenced_attempt_cannot_upload(self, starter: Starter, store: StoreServer) -> None:
        job = starter.start(f'echo ready; {HOLD}; echo late > "$DANLU_OUTPUT_DIR/x"')
        job.wait_for_log("ready")
        store.token = "another"
        job.let_go()
        (seen,) = job.wait()
        assert (seen.state, seen.reason, seen.exit_code) == (TaskState.FAILED, "upload_failed", 0)
        assert "401" in seen.message
        assert not seen.is_output_complete
        assert store.objects == {}
