"""Runs beside training processes: syncs their journals, records resource usage, and detects when one dies.

    python -I companion.py HOME

There is one for all runs of a user on a machine (see `danlu.track.sync.orders` for exceptions), and it exits when
nothing is left to do. It is detached from the training's process group and session, so that signals to these do not
reach it. It writes to its own journals and never to a training's.
"""

from __future__ import annotations

import contextlib
import fcntl
import math
import os
import select
import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NoReturn, Optional

if __name__ == "__main__":
    # as a script: use this copy of the package, but after the standard library, so that nothing shadows it
    _own = os.path.abspath(os.path.join(__file__, "../../../.."))
    _after = [number for number, place in enumerate(sys.path) if place.endswith(("site-packages", "dist-packages"))]
    sys.path.insert(_after[0] if _after else len(sys.path), _own)

from danlu.inside import inside_job
from danlu.track import capture
from danlu.track.machine_usage import Meter
from danlu.track.processes import Process, Watch
from danlu.track.sync import orders
from danlu.track.sync.address import Address, connect, find_address
from danlu.track.sync.artifacts import ArtifactSync
from danlu.track.sync.attended import Attended
from danlu.track.sync.syncing import how_it_ended
from danlu.transfer.api import Api
from danlu.transfer.retrying import Backoff

LOOK_SECONDS, SENDING_SECONDS = 0.5, 0.1
IDLE_SECONDS = 3.0
"""How long to stay without work: a script often starts its next run soon."""

FIRST_USE_SECONDS, USE_SECONDS = 1.0, 5.0
MAX_PAUSE_SECONDS = 30.0
LAST_TRIES_SECONDS = 120.0
"""How long to retry after the end of a run. `danlu sync` uploads the rest."""

NUM_SENDERS = 4
LOCK_SECONDS = 5.0
PACKAGES_SECONDS, GIT_SECONDS = 60.0, 5.0
"""How long packages of a path and the git state of a folder are cached for other runs."""


class Companion:
    def __init__(self, home: str) -> None:
        self._home = home
        self._runs: dict[str, Attended] = {}
        """Order file -> run."""

        self._watches: dict[Process, Watch] = {}
        self._meters: dict[int, Meter] = {}
        self._found: dict[tuple[str, Any], tuple[float, Any]] = {}
        self._senders = ThreadPoolExecutor(NUM_SENDERS)
        self._sending: dict[str, Future[None]] = {}
        self._address: Optional[Address] = None
        self._api: Optional[Api] = None
        self._backoff, self._try_at = _backoff(), 0.0
        self._artifacts = ArtifactSync(_say)

    def run(self) -> None:
        """Return when there has been nothing to do for a while."""
        idle_since = time.monotonic()
        while self._runs or time.monotonic() - idle_since < IDLE_SECONDS:
            self._take_orders()
            for path, run in list(self._runs.items()):
                try:
                    self._look(run)
                    self._send(path, run)
                    if self._is_done(path, run):
                        self._forget(path)
                except OSError as error:
                    _say(f"{run.folder} cannot be used: {error}")  # the folder was removed, or its disk is gone
                    self._forget(path)
            self._look_after_artifacts()
            if self._runs:
                idle_since = time.monotonic()
            self._wait()

    # orders

    def _take_orders(self) -> None:
        for path in orders.given(self._home):
            if path in self._runs:
                continue
            order = orders.read(path)
            try:
                if order is None:
                    raise LookupError(f"{path} makes no sense")
                run = Attended(order)
            except (LookupError, OSError) as error:
                _say(f"not looked after: {error}")
                orders.remove(path)
                continue
            self._find_server()
            run.note("environment", self._environment_of(run))
            run.next_use = time.monotonic() + FIRST_USE_SECONDS
            self._runs[path] = run
            if run.process not in self._watches:
                self._watches[run.process] = Watch(run.process)

    def _forget(self, path: str) -> None:
        run = self._runs.pop(path)
        self._sending.pop(path, None)
        orders.remove(path)
        if all(other.process != run.process for other in self._runs.values()):
            self._watches.pop(run.process).close()
            self._meters.pop(run.process.pid, None)

    def _is_done(self, path: str, run: Attended) -> bool:
        if run.ended_at is None or path in self._sending:
            return False
        if time.monotonic() > run.ended_at + LAST_TRIES_SECONDS:
            return True
        if not run.is_noted:
            return False
        is_sent = self._api is None or run.is_sent or not run.is_new()
        return is_sent and self._artifacts.has_sent_since(run.artifacts, run.ended_at)

    # a run

    def _look(self, run: Attended) -> None:
        if run.ended_at is not None:
            run.note_rest()
            return
        is_gone = self._watches[run.process].wait(0.0)  # before reading the journal, which may hold its last record
        now = time.monotonic()
        if run.has_end():
            run.ended_at = now
        elif is_gone:
            run.note_end(*how_it_ended(run.folder, run.process))
            run.ended_at = now
        elif now >= run.next_use:
            run.note_use(self._use_of(run.process.pid))
            run.next_use = now + USE_SECONDS

    def _environment_of(self, run: Attended) -> dict[str, Any]:
        where = str((run.header.get("environment") or {}).get("cwd") or ".")
        packages = self._once("packages", run.search, PACKAGES_SECONDS, capture.packages)
        return {"packages": packages, "git": self._once("git", where, GIT_SECONDS, capture.git)}

    def _use_of(self, pid: int) -> dict[str, float]:
        if pid not in self._meters:
            self._meters[pid] = Meter(pid)
            return {}
        found: dict[str, float] = self._once("use", pid, USE_SECONDS / 2, lambda pid: self._meters[pid].read())
        return found

    def _once(self, kind: str, key: Any, seconds: float, find: Any) -> Any:
        """Cache results for other runs."""
        known = self._found.get((kind, key))
        if known is None or time.monotonic() - known[0] > seconds:
            known = self._found[kind, key] = (time.monotonic(), find(key))
        return known[1]

    # the server

    def _find_server(self) -> None:
        """Search again for every run: the user may have signed in meanwhile."""
        if inside_job() is not None:
            return  # the node uploads the folder of runs, even when this process is killed
        try:
            address = find_address(os.environ)
        except Exception as error:  # an invalid settings file
            _say(f"not syncing: {error}")
            return
        if address != self._address:
            self._address = address
            self._api = connect(address) if address is not None else None
            self._backoff, self._try_at = _backoff(), 0.0

    def _send(self, path: str, run: Attended) -> None:
        """Send in the background, unless that is in progress or the server was just unreachable."""
        sending = self._sending.get(path)
        if sending is not None and sending.done():
            del self._sending[path]
            self._note_outcome(run, sending.exception())
            return
        is_due = sending is None and not run.is_sent and time.monotonic() >= self._try_at
        if self._api is not None and is_due and run.is_new():
            self._sending[path] = self._senders.submit(_send_run, run, self._api)

    def _note_outcome(self, run: Attended, error: Optional[BaseException]) -> None:
        if error is None:
            self._backoff.reset()
            return
        if time.monotonic() < self._try_at:
            return  # several were in progress when the server became unreachable
        pause = self._backoff.failed() or 0.0  # its patience is infinite
        self._try_at = time.monotonic() + pause
        run.say(f"not synced: {error}; trying again in {pause:.0f} s")

    def _look_after_artifacts(self) -> None:
        has_ended = any(run.ended_at is not None for run in self._runs.values())
        self._artifacts.look_into(self._address, {run.artifacts for run in self._runs.values()}, soon=has_ended)

    def _wait(self) -> None:
        """Wait for a moment, or until the process of a run ends."""
        poll = select.poll()
        for process in {run.process for run in self._runs.values() if run.ended_at is None}:
            descriptor = self._watches[process].descriptor
            if descriptor is not None:
                poll.register(descriptor, select.POLLIN)
        poll.poll((SENDING_SECONDS if self._sending else LOOK_SECONDS) * 1000)


def _send_run(run: Attended, api: Api) -> None:
    problem = run.send(api)
    if problem:
        run.is_sent = True
        run.say(f"not synced: {problem}")


def _backoff() -> Backoff:
    return Backoff(math.inf, first_seconds=LOOK_SECONDS, longest_seconds=MAX_PAUSE_SECONDS)


def _say(line: str) -> None:
    with contextlib.suppress(OSError):  # the disk may be full
        print(time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), line, file=sys.stderr, flush=True)


def _detach(home: str) -> int:
    """Fork again and let the parent exit, so that the training process has no child to wait for.

    The parent exits when the returned descriptor is closed; until then the companion counts as starting.
    """
    ready, is_ready = os.pipe()
    if os.fork() != 0:
        os.close(is_ready)
        os.read(ready, 1)
        os._exit(0)
    os.close(ready)
    log = os.open(os.path.join(home, "companion.log"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)
    return is_ready


def _take_lock(home: str) -> Optional[int]:
    """Return None when another companion exists. Waits for one that is about to exit."""
    descriptor = os.open(os.path.join(home, orders.LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    deadline = time.monotonic() + LOCK_SECONDS
    while time.monotonic() < deadline and orders.companion_of(home) is None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return descriptor
        except OSError:
            time.sleep(0.02)
    os.close(descriptor)
    return None


def main() -> NoReturn:
    home = sys.argv[1]
    is_ready = _detach(home)
    if _take_lock(home) is None:
        os._exit(0)
    orders.announce_companion(home)
    os.close(is_ready)
    companion = Companion(home)
    while True:
        orders.announce_companion(home)
        companion.run()
        orders.withdraw_companion(home)
        if not orders.given(home):  # later orders are given by processes that see that there is no companion
            os._exit(0)


if __name__ == "__main__":
    main()
