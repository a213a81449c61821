"""Provide the environment of a task on this node: find it by its key, or build it.

    python -I -S step.py FOLDER        the job's variables for installers on standard input, as JSON

Runs outside the sandbox, in the task's network. A failure is one JSON object on standard output, as from the stager;
the output of installers goes to the task's log.

    <task>/requirements        the files that define it, copied out of the code by the job's user
    <task>/new-environment     a link to the folder that a build writes to
    <task>/environment         a link to the environment, once it is complete
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import traceback
from collections.abc import Mapping
from typing import Optional

sys.path.append(os.path.abspath(os.path.join(__file__, "../../../..")))

from danlu.node.codec import encode
from danlu.node.environment import kept
from danlu.node.environment.build import Order
from danlu.node.environment.find import REQUIREMENTS, EnvironmentProblem, put_environment, wanted_environment
from danlu.node.supervise.init_process import filter_words
from danlu.node.supervise.records import LOG
from danlu.node.task import Task, TaskEnvironment, read_task

NEW = "new-environment"
INSIDE = "/run/danlu/requirements"
"""Where a build in a sandbox sees the files that define it."""

LEAST_FREE, LEAST_FREE_BYTES = 0.02, 1 << 30
"""Free share and free bytes of the disk; a build that leaves less than both is stopped."""

LAST_LINES = 30
LOOK_SECONDS = 1.0


def have_environment(folder: str, task: Task, *, variables: Mapping[str, str]) -> None:
    """Find or build the environment, and link it in the task's folder."""
    wanted = task.environment
    assert wanted is not None
    log = _Log(folder)
    name, path = wanted_environment(folder, task, variables)
    os.makedirs(wanted.folder, mode=0o711, exist_ok=True)
    if not os.path.exists(f"{path}{kept.RECORD}"):
        with kept.building(path):
            if not os.path.exists(f"{path}{kept.RECORD}"):
                _build(folder, task, _order(folder, wanted, name, path, variables), path=path, log=log)
    put_environment(folder, path)
    kept.hold(path)  # held until this process ends; then the shim takes over, or runs this step again
    if wanted.max_bytes:
        kept.clean(os.path.dirname(wanted.folder), wanted.max_bytes)


def _order(folder: str, wanted: TaskEnvironment, name: str, path: str, variables: Mapping[str, str]) -> Order:
    return Order(
        place=wanted.place or path,
        inputs=INSIDE if wanted.wrap else os.path.join(folder, REQUIREMENTS),
        name=name,
        python=wanted.python,
        version=wanted.version,
        uv=wanted.uv,
        pip=wanted.pip,
        base=wanted.base,
        own=wanted.own,
        variables=variables,
    )


def _build(folder: str, task: Task, order: Order, *, path: str, log: _Log) -> None:
    wanted = task.environment
    assert wanted is not None
    began = time.monotonic()
    tool = "uv" if order.uv else "pip"
    log.say(f"making an environment from {order.name} with {tool} and Python {order.version}")
    shutil.rmtree(path, ignore_errors=True)  # left by a build that was killed; this process holds the lock
    os.mkdir(path, 0o755)
    if wanted.uid is not None:
        os.chown(path, wanted.uid, wanted.uid)
    link = os.path.join(folder, NEW)
    if os.path.islink(link):
        os.unlink(link)
    os.symlink(path, link)
    code = _run(task, wanted, order, log)
    if code != 0:
        shutil.rmtree(path, ignore_errors=True)
        reason = "disk_full" if log.is_disk_full else "environment_failed"
        raise EnvironmentProblem(reason, f"{tool} could not install {order.name}: {log.problem(code)}")
    made = kept.write_record(path, project_id=int(os.path.basename(wanted.folder)), python=order.version)
    seconds = time.monotonic() - began
    size = f"{made.size_bytes / 2**20:.0f} MiB"
    log.say(f"the environment has {len(made.packages)} packages, {size}; it took {seconds:.1f} s")


def _run(task: Task, wanted: TaskEnvironment, order: Order, log: _Log) -> int:
    uid = "" if wanted.uid is None else str(wanted.uid)
    argv = [*wanted.wrap, *wanted.build, uid]
    passed: tuple[int, ...] = ()
    if wanted.wrap and task.filters_calls:
        words = filter_words()
        argv = [argv[0], *words, *argv[1:]]
        passed = (int(words[1]),) if words else ()
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, pass_fds=passed, cwd="/"
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(encode(order)).encode())
            process.stdin.close()
        except BrokenPipeError:
            pass  # the sandbox has ended; its output says why
        for line in process.stdout:
            log.write(line)
            if log.has_little_room(wanted.folder):
                process.kill()
    return process.returncode


class _Log:
    """Writes to the task's log, and keeps the last lines for an error message."""

    def __init__(self, folder: str) -> None:
        self._file = os.open(os.path.join(folder, LOG), os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        self._last: list[str] = []
        self._looked_at = 0.0
        self.is_disk_full = False

    def say(self, line: str) -> None:
        self.write(f"danlu: {line}\n".encode())

    def write(self, line: bytes) -> None:
        text = line.decode(errors="replace").rstrip()
        self.is_disk_full = self.is_disk_full or "No space left on device" in text
        self._last = [*self._last[1 - LAST_LINES :], text]
        try:
            os.write(self._file, line)
        except OSError:
            return  # a full disk costs log lines, not the build

    def problem(self, code: int) -> str:
        """The most informative line of the output."""
        told = [line for line in self._last if line.lower().startswith(("error", "×", "  ×"))]
        return (told or self._last or [f"it ended with {code}"])[-1][:500]

    def has_little_room(self, folder: str) -> bool:
        if time.monotonic() - self._looked_at < LOOK_SECONDS:
            return False
        self._looked_at = time.monotonic()
        found = os.statvfs(folder)
        if found.f_bavail * found.f_frsize >= min(found.f_blocks * found.f_frsize * LEAST_FREE, LEAST_FREE_BYTES):
            return False
        self.say("no room for the environment: No space left on device")
        return True


def main() -> int:
    (folder,) = sys.argv[1:]
    failure: Optional[tuple[str, str]] = None
    try:
        have_environment(folder, read_task(folder), variables=json.loads(sys.stdin.read() or "{}"))
    except EnvironmentProblem as problem:
        failure = problem.reason, str(problem)
    except OSError as error:
        failure = "disk_full" if error.errno == 28 else "environment_failed", f"no environment: {error}"
    except Exception as error:  # report any error as a failure of the task
        print(traceback.format_exc(), file=sys.stderr)
        failure = "environment_failed", f"no environment: {type(error).__name__}: {error}"
    if failure is None:
        return 0
    reason, message = failure
    print(json.dumps({"reason": reason, "message": message.encode("utf-8", "backslashreplace").decode()}), flush=True)
    return 1


if __name__ == "__main__":
    sys.exit(main())
