"""Fetch the inputs of a task, or upload its outputs. Runs outside the sandbox, with access to the server.

    python -I -S stager.py in|out FOLDER

Uploads until standard input ends, which signals that the command has ended; then it makes the last pass. A failure is
one JSON object on standard output: {"reason": "...", "message": "..."}. Standard error is a log for humans. If the shim
is root, the stager switches to the job's user before it touches files that the job can change.
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

from danlu.node.stage.description import Staging, read_staging
from danlu.node.stage.elsewhere import S3, WEB, Elsewhere
from danlu.node.stage.fetch import InputMissing, Sources, fetch_all
from danlu.node.stage.send import Sender
from danlu.node.stage.tracked import Tracked
from danlu.node.supervise.stager_process import kept_in
from danlu.node.task import TaskCache
from danlu.transfer.api import Api
from danlu.transfer.errors import Damaged, LocalProblem, Refused, ServerAway
from danlu.transfer.http_carrier import HttpCarrier
from danlu.transfer.node_cache import NodeCache
from danlu.transfer.retrying import Retry

PASS_SECONDS, AFTER_PROBLEM_SECONDS = 2.0, 30.0
"""Minimum pause between two passes over the outputs, and the pause after a failed pass."""


def stage_in(task: Staging, sources: Sources) -> tuple[str, str] | None:
    """Fetch all inputs. Return reason and message of a failure."""
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
    """Upload until standard input ends, then what is left. Return reason and message of a failure."""
    patience = task.out_patience_seconds
    api = _api(task, patience)
    sender = Sender(api, task.outputs, sent=task.fetched, say=_say)
    tracked = Tracked(api, task.runs, say=_say)
    pause = 0.0
    while not _is_last(pause):
        began = time.monotonic()
        try:
            has_rest = tracked.send()
            sender.send_settled()
        except Exception as problem:  # not final: the last pass decides
            _say(f"{type(problem).__name__}: {problem}")
            has_rest = True
        pause = AFTER_PROBLEM_SECONDS if has_rest else max(PASS_SECONDS, 10 * (time.monotonic() - began))
    try:
        tracked.send()
        left_out = sender.send_all()
        tracked.send_rest(patience)
    except Refused as refused:
        return "upload_failed", f"the server refused an upload: {refused.status} {refused.message}"
    except ServerAway as away:
        return "upload_failed", f"the server could not be reached: {away} (tried for {patience:.0f} s)"
    return ("upload_failed", left_out) if left_out else None


def _api(task: Staging, patience_seconds: float) -> Api:
    return Api(HttpCarrier(task.server_url, task.token), Retry(patience_seconds, say=_say))


def _is_last(pause_seconds: float) -> bool:
    """Wait; return True when standard input has ended."""
    if not select.select([0], [], [], pause_seconds)[0]:
        return False
    return not os.read(0, 4096)


def _say(line: str) -> None:
    try:
        print(time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), line, file=sys.stderr, flush=True)
    except OSError:
        return  # a full disk costs log lines, not the transfer


def _open_sources(task: Staging) -> Sources:
    """Open what the job's user has no access to: the cache, and the certificate file."""
    patience, made = task.in_patience_seconds, None
    if any(one.source.startswith((WEB, S3)) for one in task.inputs):
        made = Elsewhere(task.elsewhere, Retry(patience, say=_say), secrets=_read_secrets())

    def elsewhere() -> Elsewhere:
        assert made is not None  # only called for inputs of this kind
        return made

    return Sources(_api(task, patience), _open_cache(task.cache), elsewhere)


def _read_secrets() -> dict[str, str]:
    """Read the secrets that inputs use from the shim."""
    text = sys.stdin.buffer.read()
    found: dict[str, str] = json.loads(text) if text else {}
    return found


def _open_cache(cache: Optional[TaskCache]) -> Optional[NodeCache]:
    """Open the cache folder while still root: the job's user has no access to the folders above it."""
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
    "localhost".encode("idna")  # loads the codec for the first connection while its file can still be read
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)


def stage(direction: str, folder: str) -> int:
    """Return the exit code of this process, which switches to the job's user."""
    try:
        task = read_staging(folder)
        sources = _open_sources(task) if direction == "in" else None
        os.chdir(folder)
        os.umask(0o022)
        _become(task.uid)
        failure = stage_out(task) if sources is None else stage_in(task, sources)
    except Exception as error:  # report any error as a failure of the task
        _say(traceback.format_exc())
        code = "staging_failed" if direction == "in" else "upload_failed"
        failure = code, f"the stager failed: {type(error).__name__}: {error}"
    if failure is None:
        return 0
    reason, message = failure
    if direction == "out":
        message = f"{message}; {kept_in(folder)}"
    _say(f"{reason}: {message}")
    # file names need not be valid text, the message must be
    shown = message.encode("utf-8", "backslashreplace").decode()
    print(json.dumps({"reason": reason, "message": shown}), flush=True)
    return 1


if __name__ == "__main__":
    sys.exit(stage(*sys.argv[1:]))
