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
from typing import Optional

sys.path.append(os.path.abspath(os.path.join(__file__, "../../../..")))

from danlu.node.stage.artifacts import ArtifactsSender
from danlu.node.stage.description import Staging, read_staging
from danlu.node.stage.elsewhere import S3, WEB, Elsewhere
from danlu.node.stage.fetch import InputMissing, Sources, fetch_all
from danlu.node.stage.runs import RunsSender
from danlu.node.stage.send import Sender
from danlu.node.supervise.stager_process import kept_in
from danlu.node.task import TaskCache
from danlu.transfer.api import Api
from danlu.transfer.errors import Damaged, LocalProblem, Refused, ServerAway
from danlu.transfer.http_carrier import HttpCarrier
from danlu.transfer.node_cache import NodeCache
from danlu.transfer.retrying import Retry

PASS_SECONDS, AFTER_PROBLEM_SECONDS = 2.0, 30.0
"""Pause between two looks at the outputs; longer when a look itself takes long."""


def stage_in(task: Staging, sources: Sources) -> tuple[str, str] | None:
    """Fetch all inputs. Return reason and sentence of a failure."""
    patience, began = task.in_patience_seconds, time.monotonic()
    try:
        fetch_all(sources, task.inputs, say=_say)
        _say(f"inputs fetched in {time.monotonic() - began:.3f} s")
    except InputMissing as missing:
        return "input_missing", str(missing)
    except Refused as refused:
        return "staging_failed", f"the server refused an input: {refused.status} {refused.message}"
    except ServerAway as away:
        return "staging_failed", f"an input could not be fetched: {away} (tried for {patience:.0f} s)"
    except Damaged as damaged:
        return "staging_failed", f"an input arrived damaged: {damaged}"
    except LocalProblem as problem:
        return "disk_full" if problem.is_disk_full else "staging_failed", f"an input could not be written: {problem}"
    return None


def stage_out(task: Staging) -> tuple[str, str] | None:
    """Upload until standard input ends, and then what is left. Return reason and sentence of a failure."""
    patience = task.out_patience_seconds
    api = _api(task, patience)
    sender = Sender(api, task.outputs, sent=task.fetched, say=_say)
    runs = RunsSender(api, task.runs, say=_say)
    artifacts = ArtifactsSender(api, task.runs, say=_say)
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
    try:
        runs.send()
        artifacts.send()
        left_out = sender.send_all()
    except Refused as refused:
        return "upload_failed", f"the server refused an upload: {refused.status} {refused.message}"
    except ServerAway as away:
        return "upload_failed", f"the server could not be reached: {away} (tried for {patience:.0f} s)"
    return ("upload_failed", left_out) if left_out else None


def _api(task: Staging, patience_seconds: float) -> Api:
    return Api(HttpCarrier(task.server_url, task.token), Retry(patience_seconds, say=_say))


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


def _open_sources(task: Staging) -> Sources:
    """Open what the job's user may not: the cache, and the file of certificates."""
    patience, made = task.in_patience_seconds, None
    if any(one.source.startswith((WEB, S3)) for one in task.inputs):
        made = Elsewhere(task.elsewhere, Retry(patience, say=_say), secrets=_read_secrets())

    def elsewhere() -> Elsewhere:
        assert made is not None  # an input asked for it
        return made

    return Sources(_api(task, patience), _open_cache(task.cache), elsewhere)


def _read_secrets() -> dict[str, str]:
    """Those that inputs name, from the shim."""
    text = sys.stdin.buffer.read()
    found: dict[str, str] = json.loads(text) if text else {}
    return found


def _open_cache(cache: Optional[TaskCache]) -> Optional[NodeCache]:
    """Open the folder before the job's user is taken on, who may not pass the folders above it."""
    if cache is None:
        return None
    try:
        descriptor = os.open(cache.folder, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as error:
        _say(f"without a cache: {error}")
        return None
    return NodeCache(f"/proc/self/fd/{descriptor}", cache.max_bytes)


def _become(uid: int | None) -> None:
    if uid is None or os.geteuid() != 0:
        return
    "localhost".encode("idna")  # loads the codec that a first connection needs, while its file can be read
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)


def stage(direction: str, folder: str) -> int:
    """Return the exit code of this process, which becomes the job's user."""
    try:
        task = read_staging(folder)
        sources = _open_sources(task) if direction == "in" else None
        os.chdir(folder)
        os.umask(0o022)
        _become(task.uid)
        failure = stage_out(task) if sources is None else stage_in(task, sources)
    except Exception as error:  # whatever it is, what it means for the task is said
        _say(traceback.format_exc())
        code = "staging_failed" if direction == "in" else "upload_failed"
        failure = code, f"the stager failed: {type(error).__name__}: {error}"
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
    sys.exit(stage(*sys.argv[1:]))
