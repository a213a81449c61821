"""Fetches the inputs of a task, or uploads its outputs. Runs beside the sandbox, with the server in reach.

    python -I -S stager.py in|out FOLDER

Uploads go on until standard input ends, which says that the command has; then the last pass is made. A failure is one
JSON object on standard output: {"reason": "...", "message": "..."}. Standard error is a log for people.
When the shim is root, the stager becomes the job's own user before it touches a file that the job can change.
"""

from __future__ import annotations

import json
import os
import select
import sys
import time
import traceback

sys.path.append(os.path.abspath(os.path.join(__file__, "../../../..")))

from danlu.node.stage.artifacts import ArtifactsSender
from danlu.node.stage.fetch import InputMissing, fetch_all
from danlu.node.stage.runs import RunsSender
from danlu.node.stage.send import Sender
from danlu.node.supervise.records import TOKEN
from danlu.node.supervise.stager_process import kept_in, read_fetched
from danlu.node.task import Task, read_task
from danlu.transfer.http import Away, LocalProblem, Refused, Server

PASS_SECONDS, AFTER_PROBLEM_SECONDS = 2.0, 30.0
"""Pause between two looks at the outputs; longer when a look itself takes long."""


def stage_in(task: Task, token: str) -> tuple[str, str] | None:
    """Fetch all inputs. Return reason and sentence of a failure."""
    server = Server(task.server_url, token, patience_seconds=task.in_patience_seconds, say=_say)
    try:
        fetch_all(server, task.inputs, say=_say)
    except InputMissing as missing:
        return "input_missing", str(missing)
    except Refused as refused:
        return "staging_failed", f"the server refused an input: {refused.status} {refused.message}"
    except Away as away:
        return "staging_failed", f"an input could not be fetched: {away}"
    except LocalProblem as problem:
        return "disk_full" if problem.is_disk_full else "staging_failed", f"an input could not be written: {problem}"
    return None


def stage_out(task: Task, token: str, fetched: dict[str, list[int]]) -> tuple[str, str] | None:
    """Upload until standard input ends, and then what is left. Return reason and sentence of a failure."""
    server = Server(task.server_url, token, patience_seconds=task.out_patience_seconds, say=_say)
    sender = Sender(server, task.outputs, sent=fetched, say=_say)
    runs = RunsSender(server, task.runs or None, say=_say)
    artifacts = ArtifactsSender(server, task.runs or None, say=_say)
    pause = 0.0
    while not _is_last(pause):
        began = time.monotonic()
        try:
            runs.send()
            artifacts.send()
            sender.send_settled()
        except Exception as problem:  # there is time; the last pass decides
            _say(f"{type(problem).__name__}: {problem}")
            pause = AFTER_PROBLEM_SECONDS
        else:
            pause = max(PASS_SECONDS, 10 * (time.monotonic() - began))
        server.is_given_up.clear()
    try:
        runs.send()
        artifacts.send()
        left_out = sender.send_all()
    except Refused as refused:
        return "upload_failed", f"the server refused an upload: {refused.status} {refused.message}"
    except Away as away:
        return "upload_failed", f"the server could not be reached: {away}"
    return ("upload_failed", left_out) if left_out else None


def _is_last(pause_seconds: float) -> bool:
    """Wait; say whether no more files will come."""
    if not select.select([0], [], [], pause_seconds)[0]:
        return False
    return not os.read(0, 4096)


def _say(line: str) -> None:
    try:
        print(time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), line, file=sys.stderr, flush=True)
    except OSError:
        return  # a full disk takes the log, not the transfer


def _relative(task: Task, folder: str) -> Task:
    """The job's user may not pass the folders above, so paths are given from the task's own."""
    return task._replace(
        inputs=tuple(item._replace(to=os.path.relpath(item.to, folder)) for item in task.inputs),
        outputs=tuple(item._replace(path=os.path.relpath(item.path, folder)) for item in task.outputs),
        runs=os.path.relpath(task.runs, folder) if task.runs else "",
    )


def _become(uid: int | None) -> None:
    if uid is None or os.geteuid() != 0:
        return
    "localhost".encode("idna")  # loads the codec that a first connection needs, while its file can be read
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)


def main() -> int:
    direction, folder = sys.argv[1:]
    try:
        task = read_task(folder)
        with open(os.path.join(folder, TOKEN)) as file:
            token = file.read().strip()
        fetched = read_fetched(folder)
        os.chdir(folder)
        os.umask(0o022)
        _become(task.uid)
        task = _relative(task, folder)
        failure = stage_in(task, token) if direction == "in" else stage_out(task, token, fetched)
    except Exception as error:  # whatever it is, what it means for the task is said
        _say(traceback.format_exc())
        code = "staging_failed" if direction == "in" else "upload_failed"
        failure = code, f"the stager broke down: {type(error).__name__}: {error}"
    if failure is None:
        return 0
    reason, message = failure
    if direction == "out":
        message = f"{message}; {kept_in(folder)}"
    _say(f"{reason}: {message}")
    # a file name need not be text; a sentence is
    shown = message.encode("utf-8", "backslashreplace").decode()
    print(json.dumps({"reason": reason, "message": shown}), flush=True)
    return 1


if __name__ == "__main__":
    sys.exit(main())
