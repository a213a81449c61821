"""The file by which an engine tells a node about a task, when both have the same version and when they have not."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.tasks import make_task

from danlu.engines.local.forking import ForkServer
from danlu.node.codec import Malformed
from danlu.node.supervise import orders
from danlu.node.supervise.orders import Ended, Execute, Executed, NotStarted, Start, Started, Stop
from danlu.node.task import (
    TASK,
    VERSION,
    Gang,
    TaskGate,
    TaskImage,
    TaskInput,
    TaskLimits,
    TaskLogCopy,
    TaskOutput,
    TaskUnreadable,
    TaskUsage,
    from_json,
    gang_from_json,
    gang_to_json,
    read_task,
    to_json,
)

FULL = make_task(
    wrap=("bwrap", "--"),
    env={"A": "1", "空": "深"},
    uid=1_000_000_007,
    spared=("mpirun",),
    image=TaskImage(name="r.example/x:1", tool="podman", cache="/c", fetch=("python", "image.py"), root="/r"),
    gates=(TaskGate("setup", "setup_failed", "/t/done"),),
    log_copy=TaskLogCopy("/homes/li", "jobs/log.txt"),
    stop_file="/t/stop",
    inputs=(TaskInput("store://b/k", "/t/data"), TaskInput("store://b/c/", "/t/out/checkpoints", is_own=True)),
    outputs=(TaskOutput("/t/out", "store://b/out/", while_running=True),),
    runs="/t/runs",
    limits=TaskLimits(1 << 40, 2.5, 16384, 1 << 30, ("/homes/li",), ("python", "disk.py")),
    filters_calls=False,
    cgroups={"memory": "/sys/fs/cgroup/danlu-"},
    usage=TaskUsage(5.0, counts_network=True, devices=("npu:0",), device_file="/d", device_reader=("python", "d.py")),
)


def changed(**fields: Any) -> str:
    return json.dumps({**json.loads(to_json(FULL)), **fields})


class TestTask:
    @pytest.mark.parametrize("task", [FULL, make_task()], ids=["every field", "defaults"])
    def test_what_is_written_is_read(self, task: object) -> None:
        assert from_json(to_json(task)) == task  # type: ignore[arg-type]

    def test_a_whole_number_is_a_number_too(self) -> None:
        assert from_json(changed(grace_seconds=30)).grace_seconds == 30.0

    def test_a_field_of_a_newer_writer_is_ignored(self) -> None:
        assert from_json(changed(gpus_are_warm=True, usage={**FULL.usage._asdict(), "unit": "J"})) == FULL

    def test_a_field_that_an_older_writer_does_not_know_has_its_default(self) -> None:
        fields = json.loads(to_json(FULL))
        del fields["usage"]
        del fields["inputs"][0]["is_own"]
        assert from_json(json.dumps(fields)) == FULL._replace(usage=TaskUsage())

    @pytest.mark.parametrize("version", [VERSION + 1, VERSION - 1, None, "1", [1]])
    def test_another_version_is_refused_and_both_are_named(self, version: object) -> None:
        with pytest.raises(TaskUnreadable) as refused:
            from_json(changed(version=version))
        assert str(refused.value).startswith(f"version: expected {VERSION}, got {json.dumps(version)}; ")

    def test_a_file_from_before_there_were_versions_is_refused(self) -> None:
        with pytest.raises(TaskUnreadable, match=f"version: expected {VERSION}, got null"):
            from_json('{"name": "job-1-0", "command": ["true"]}')

    @pytest.mark.parametrize(
        ("fields", "problem"),
        [
            ({"command": "train.py"}, 'command: expected a list, got "train.py"'),
            ({"command": ["a", 1]}, "command[1]: expected text, got 1"),
            ({"env": {"A": None}}, "env.A: expected text, got null"),
            ({"env": []}, "env: expected an object, got []"),
            ({"uid": "root"}, 'uid: expected a whole number, got "root"'),
            ({"uid": True}, "uid: expected a whole number, got true"),
            ({"limits": {"memory_bytes": 1.5}}, "limits.memory_bytes: expected a whole number, got 1.5"),
            ({"image": []}, "image: expected an object, got []"),
            ({"inputs": [{"source": "x"}]}, "inputs[0].to: expected text, got nothing"),
            ({"outputs": [{"path": "a", "to": "b", "while_running": 1}]}, "outputs[0].while_running: expected true or"),
            ({"name": ["x" * 100]}, f'name: expected text, got ["{"x" * 58}...'),
        ],
    )
    def test_a_wrong_field_is_named(self, fields: dict[str, Any], problem: str) -> None:
        with pytest.raises(TaskUnreadable) as refused:
            from_json(changed(**fields))
        assert str(refused.value).startswith(problem)

    @pytest.mark.parametrize("text", ["", "{", "[]", "null", '"x"'])
    def test_what_is_no_object_is_refused(self, text: str) -> None:
        with pytest.raises(TaskUnreadable, match="expected a JSON object"):
            from_json(text)

    def test_the_file_is_named(self, tmp_path: Path) -> None:
        (tmp_path / TASK).write_text(changed(version=99))
        with pytest.raises(TaskUnreadable, match=f"{tmp_path}/{TASK}: version"):
            read_task(str(tmp_path))


class TestGang:
    def test_what_is_written_is_read(self) -> None:
        gang = Gang(("/t/0", "/t/1"), {"KEY": "s"}, ("10.88.0.1",), "/usr/bin/slirp4netns")
        assert gang_from_json(gang_to_json(gang)) == gang

    @pytest.mark.parametrize("version", [VERSION + 1, VERSION - 1])
    def test_a_task_of_another_version_does_not_start_and_says_why(self, tmp_path: Path, version: int) -> None:
        (tmp_path / TASK).write_text(changed(version=version))
        with open(tmp_path / "start.lock", "w") as lock:
            problem = ForkServer(Path(sys.executable)).start(Gang((str(tmp_path),), {}, (), ""), lock.fileno())
        assert f"version: expected {VERSION}, got {version}" in problem


class TestOrders:
    @pytest.mark.parametrize(
        "message",
        [
            Start(("sh", "-c", ":"), {"A": "1"}, "/opt/ml", spared=("mpirun",)),
            Stop(30.0),
            Execute(3, ("bash",), {"TERM": "xterm"}, has_terminal=True),
            Started(1.5),
            NotStarted(2, "trian.py", "No such file or directory"),
            Ended(0, 2.5),
            Executed(3, code=0),
            Executed(3, error="no"),
        ],
    )
    def test_what_is_written_is_read(self, message: orders.Order | orders.Event) -> None:
        line = orders.write(message)
        assert line.endswith(b"\n")
        assert orders.read(line) == message

    @pytest.mark.parametrize("line", [b"{}", b'{"is": "reboot"}', b'{"is": "stop"}', b"\xff", b'{"is": ["stop"]}'])
    def test_anything_else_is_malformed(self, line: bytes) -> None:
        with pytest.raises(Malformed):
            orders.read(line)
