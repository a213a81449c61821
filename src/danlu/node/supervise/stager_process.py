"""The shim's side of the stager: start it, tell it to finish, and read its result."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
from collections.abc import Mapping, Sequence
from typing import Callable, NoReturn, Optional
from urllib.parse import parse_qsl

from danlu.node.supervise import linux
from danlu.node.supervise.below import parent_below
from danlu.node.supervise.records import FETCHED, STAGER_LOG
from danlu.node.task import Task, TaskEnvironment, TaskImage, TaskInput

MAX_FOLDERS = 200
MAX_MEMORY_BYTES = 4 << 30
"""Of a stager: it reads files that the job wrote, outside the job's cgroups."""

_FAILED = {"in": "staging_failed", "image": "image_failed", "environment": "environment_failed"}
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class StagerProcess:
    """A child of the shim, outside the sandbox and the job's network."""

    def __init__(self, pid: int, folder: str, direction: str, *, orders: int, answers: int) -> None:
        self.pid = pid
        self._folder = folder
        self._direction = direction
        self._orders = orders
        self._answers = answers
        self._was_killed = False

    @classmethod
    def start(cls, folder: str, direction: str, *, secrets: Optional[Mapping[str, str]] = None) -> StagerProcess:
        """Start fetching (`in`, with the secrets of inputs) or uploading (`out`)."""
        process = cls._start(folder, direction, _stage(direction, folder), max_memory_bytes=MAX_MEMORY_BYTES)
        if direction == "in":
            process._tell(json.dumps(dict(secrets or {})))
        return process

    @classmethod
    def fetch_image(cls, folder: str, image: TaskImage, password: str) -> StagerProcess:
        """Start to pull the task's image."""
        process = cls._start(folder, "image", _execute([*image.fetch, folder]))
        process._tell(password)
        return process

    @classmethod
    def make_environment(
        cls, folder: str, environment: TaskEnvironment, *, variables: Mapping[str, str], enter: Callable[[], None]
    ) -> StagerProcess:
        """Start the environment step; `enter` moves it into the task's cgroups and network."""
        process = cls._start(folder, "environment", _execute([*environment.step, folder]), enter=enter)
        process._tell(json.dumps(dict(variables)))
        return process

    @classmethod
    def _start(
        cls,
        folder: str,
        direction: str,
        work: Callable[[], int],
        *,
        max_memory_bytes: int = 0,
        enter: Optional[Callable[[], None]] = None,
    ) -> StagerProcess:
        read_orders, orders = os.pipe2(os.O_CLOEXEC)
        answers, write_answers = os.pipe2(os.O_CLOEXEC)
        pid = os.fork()
        if pid == 0:
            pipes = (read_orders, write_answers)
            _become_stager(work, folder=folder, pipes=pipes, max_memory_bytes=max_memory_bytes, enter=enter)
        os.close(read_orders)
        os.close(write_answers)
        return cls(pid, folder, direction, orders=orders, answers=answers)

    def _tell(self, text: str) -> None:
        """Write the whole standard input of the stager, and close it."""
        with contextlib.suppress(OSError):  # it ended before it could read; its exit status says why
            os.write(self._orders, text.encode())
        self.finish()

    def finish(self) -> None:
        """Close the standard input of an uploading stager: no more files will be written."""
        if self._orders >= 0:
            os.close(self._orders)
            self._orders = -1

    def kill(self) -> None:
        self._was_killed = True
        for end in (os.killpg, os.kill):  # it has its own process group once it has started
            with contextlib.suppress(ProcessLookupError):
                end(self.pid, signal.SIGKILL)

    def result(self, status: int) -> tuple[str, str] | None:
        """Return reason and message of a failure; None on success. Call once, after its end."""
        answer = b""
        while True:
            piece = os.read(self._answers, 65536)
            if not piece:
                break
            answer += piece
        os.close(self._answers)
        self.finish()
        if answer:
            found = json.loads(answer)
            return str(found["reason"]), str(found["message"])
        if status == 0:
            return None
        problem = f"the stager ended without a message (status {status}); see {STAGER_LOG}"
        if self._was_killed:
            problem = "the transfer was cut short because the task is being stopped"
        if self._direction != "out":
            return _FAILED[self._direction], problem
        return "upload_failed", f"{problem}; {kept_in(self._folder)}"


def kept_in(folder: str) -> str:
    """Part of messages about outputs that were not uploaded. A promise: such a folder is not removed."""
    return f"the files are kept in {folder}"


def split_secrets(task: Task, secrets: Mapping[str, str]) -> tuple[str, dict[str, str], dict[str, str]]:
    """Return the password of the image, the secrets of inputs, and the rest, which the command gets."""
    password = task.image.secret if task.image is not None else ""
    of_inputs = {
        value
        for item in task.inputs
        if item.source.startswith("s3://")
        for name, value in parse_qsl(item.source.partition("#")[2])
        if name == "secret"
    }
    own = {name: value for name, value in secrets.items() if name != password and name not in of_inputs}
    return secrets.get(password, ""), {name: secrets[name] for name in of_inputs if name in secrets}, own


def note_fetched(folder: str, inputs: Sequence[TaskInput]) -> None:
    """Record the files of earlier attempts before the command can change them: the store has them already."""
    found: dict[str, list[int]] = {}
    for item in inputs:
        for parent, _, names in os.walk(item.to) if item.is_own else ():
            for name in names:
                path = os.path.join(parent, name)
                seen = os.lstat(path)
                found[os.path.relpath(path, folder)] = [seen.st_size, seen.st_mtime_ns, seen.st_ino]
    if found:
        with open(os.path.join(folder, FETCHED), "w") as file:
            json.dump(found, file)


def read_fetched(folder: str) -> dict[str, list[int]]:
    """Return path relative to the task's folder -> [size, mtime, inode] when it was fetched."""
    try:
        with open(os.path.join(folder, FETCHED)) as file:
            found: dict[str, list[int]] = json.load(file)
    except (OSError, ValueError):
        return {}  # then files are uploaded again, which only costs bandwidth
    return found


def has_files(task_folder: str, path: str) -> bool:
    """Whether there is any file in a path of a task's folder, or more folders than are worth searching.

    The job controls the path: it may be a symlink, and hold any number of nested folders.
    """
    try:
        with parent_below(task_folder, path) as (at, name):
            waiting = [os.open(name, _FOLDER, dir_fd=at)]
    except FileNotFoundError:
        return False
    except OSError:  # unreadable; the upload reports why
        return True
    try:
        return any(_has_files(waiting) for _ in range(MAX_FOLDERS) if waiting) or bool(waiting)
    finally:
        for folder in waiting:
            os.close(folder)


def _has_files(waiting: list[int]) -> bool:
    """Look at one folder, and queue its subfolders."""
    folder = waiting.pop()
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if not entry.is_dir(follow_symlinks=False) or len(waiting) >= MAX_FOLDERS:
                    return True
                waiting.append(os.open(entry.name, _FOLDER, dir_fd=folder))
    except OSError:
        return True
    finally:
        os.close(folder)
    return False


def _stage(direction: str, folder: str) -> Callable[[], int]:
    """Fork the stager without exec: the fork server has loaded its modules."""

    def work() -> int:
        from danlu.node.stage import stager

        return stager.stage(direction, folder)

    return work


def _execute(argv: list[str]) -> Callable[[], int]:
    return lambda: os.execve(argv[0], argv, {"LANG": "C.UTF-8", "PATH": os.environ.get("PATH", "")})


def _become_stager(
    work: Callable[[], int],
    *,
    folder: str,
    pipes: tuple[int, int],
    max_memory_bytes: int,
    enter: Optional[Callable[[], None]],
) -> NoReturn:
    """Do the work and exit with its code. `max_memory_bytes`: 0 for no limit. `pipes`: standard input and output."""
    code = 1
    try:
        os.setsid()
        linux.name_process("danlu-stager")
        linux.be_ended_first()
        if max_memory_bytes:
            hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
            allowed = max_memory_bytes if hard == resource.RLIM_INFINITY else min(max_memory_bytes, hard)
            resource.setrlimit(resource.RLIMIT_DATA, (allowed, allowed))
        linux.die_with_parent(signal.SIGKILL)
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        signal.set_wakeup_fd(-1)
        flags = os.O_CREAT | os.O_WRONLY | os.O_APPEND
        log = os.open(os.path.join(folder, STAGER_LOG), flags, 0o600)
        os.dup2(pipes[0], 0)
        os.dup2(pipes[1], 1)
        os.dup2(log, 2)
        if enter is not None:
            enter()
        _close_the_rest()
        code = work()
    except OSError as error:
        os.write(2, f"{error}\n".encode())
    finally:
        os._exit(code)


def _close_the_rest() -> None:
    """Close the shim's descriptors. Its objects are not finalized: this process exits without returning to them."""
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # the descriptor of this listing
            if int(name) > 2:
                os.close(int(name))
