"""Runs beside the training process: syncs its journal, notes the use of the machine, and notices when it dies.

    python -I companion.py ORDER LEASH

It is detached twice, so that nothing that happens to the training's processes happens to it. It writes to a journal of
its own and never to the training's.
"""

from __future__ import annotations

import json
import math
import os
import sys
import time
from typing import Any, NoReturn, Optional

if __name__ == "__main__":
    # as a script: this very copy of the package, but behind Python's own library, which nothing may shadow
    _own = os.path.abspath(os.path.join(__file__, "../../../.."))
    _after = [number for number, place in enumerate(sys.path) if place.endswith(("site-packages", "dist-packages"))]
    sys.path.insert(_after[0] if _after else len(sys.path), _own)

from danlu import journal
from danlu.content.drafts import FOLDER as ARTIFACTS
from danlu.inside import inside_job
from danlu.journal import Kind, Layout
from danlu.track import capture
from danlu.track.machine_usage import Meter
from danlu.track.processes import Watch, from_header
from danlu.track.reading import open_journals
from danlu.track.sync.address import connect, find_address
from danlu.track.sync.artifacts import ArtifactSync
from danlu.track.writer import Rows, Writer
from danlu.transfer.api import Api
from danlu.transfer.errors import Refused, ServerAway
from danlu.transfer.journals import announce, send_journal
from danlu.transfer.retrying import Backoff

LOOK_SECONDS = 0.5
FIRST_USE_SECONDS, USE_SECONDS = 1.0, 5.0
MAX_PAUSE_SECONDS = 30.0
LAST_TRIES_SECONDS = 120.0
"""How long it retries after the end of the run. `danlu sync` uploads the rest."""


class Companion:
    def __init__(self, folder: str, journal_path: str, search: list[str]) -> None:
        """Raise LookupError when the journal cannot be read."""
        self._folder = folder
        self._path = journal_path
        found = [one for one in open_journals(folder) if one.path == journal_path]
        if not found:
            raise LookupError(f"no journal at {journal_path}")
        self._header = found[0].header
        process = from_header(self._header)
        if process is None:
            raise LookupError(f"{journal_path} does not say whose it is")
        self._watch = Watch(process)
        self._meter = Meter(process.pid)
        self._scanned = journal.FILE_HEADER_BYTES
        self._has_end = False
        self._writer = self._open_own()
        self._layouts: dict[tuple[str, ...], Rows] = {}
        self._api: Optional[Api] = None
        self._is_announced = False
        self._is_refused = False
        self._backoff, self._try_at = _backoff(), 0.0
        self._sent_bytes = -1
        self._search = search
        self._artifacts = ArtifactSync(os.path.join(os.path.dirname(folder), ARTIFACTS), _say)

    def run(self) -> None:
        """Return after the end of the run."""
        self._find_server()
        next_use = time.monotonic() + FIRST_USE_SECONDS
        self._note_environment()
        is_gone = False
        while not is_gone and not self._has_end:
            is_gone = self._watch.wait(LOOK_SECONDS)
            if time.monotonic() >= next_use and not is_gone:
                self._note_use()
                next_use = time.monotonic() + USE_SECONDS
            self._look_at_journal()
            self._sync()
        if not self._has_end:
            reason = "the process ended unexpectedly: it was killed, or its machine went down"
            self._writer.add(journal.encode_finish("died", time=time.time(), reason=reason))
        self._writer.flush()
        self._sync_to_the_end()
        self._artifacts.finish(LAST_TRIES_SECONDS)

    def _open_own(self) -> Writer:
        journal_id = journal.new_journal_id()
        header = {**self._header, "writer": "companion", "created_at": time.time()}
        return Writer(os.path.join(self._folder, f"{journal_id}.journal"), journal_id, journal.encode_run(header))

    def _note_environment(self) -> None:
        where = str((self._header.get("environment") or {}).get("cwd") or ".")
        found: dict[str, Any] = {"packages": capture.packages(self._search), "git": capture.git(where)}
        self._writer.add(journal.encode_set("environment", found, time=time.time()))
        self._writer.flush()

    def _note_use(self) -> None:
        values = self._meter.read()
        if not values:
            return
        names = tuple(values)
        if names not in self._layouts:
            layout = Layout(len(self._layouts) + 1, "system", names)
            self._writer.add(journal.encode_layout(layout))
            self._layouts[names] = Rows(layout.number, journal.row_struct(len(names)).size)
        seconds = int(time.time() - float(self._header["created_at"]))
        row = journal.row_struct(len(names)).pack(seconds, time.time(), float("nan"), *values.values())
        self._writer.pending.append((self._layouts[names], row))
        self._writer.flush()

    def _look_at_journal(self) -> None:
        """Read what was added, for the one frame that says that the run is over."""
        while True:
            with open(self._path, "rb") as file:
                file.seek(self._scanned)
                data = file.read(8 << 20)
            found = journal.scan(data, 0)
            self._has_end = self._has_end or any(frame.kind == Kind.FINISH for frame in found.frames)
            self._scanned += found.end
            if found.end == 0:
                return

    # the server

    def _find_server(self) -> None:
        if inside_job() is not None:
            return  # the node sends what is in the folder of runs, also when this process is killed
        try:
            address = find_address(os.environ)
        except Exception as error:  # a settings file that cannot be used
            _say(f"not syncing: {error}")
            return
        self._api = connect(address) if address is not None else None
        if address is not None:
            self._artifacts.start(address)

    def _sync(self) -> bool:
        """Send what is new, unless the server was away a moment ago. Say whether the server has everything."""
        if self._api is None or self._is_refused:
            return True
        if time.monotonic() < self._try_at:
            return False
        paths = (self._path, self._writer.path)
        size = sum(os.path.getsize(path) for path in paths)
        if size == self._sent_bytes:
            return True
        try:
            if not self._is_announced:
                announce(self._api, self._header)
                self._is_announced = True
            for path in paths:
                send_journal(self._api, str(self._header["run"]), path)
        except Refused as refused:
            return self._put_off(f"{refused.status} {refused.message}", is_final=refused.status in (403, 404, 409, 422))
        except ServerAway as error:
            return self._put_off(str(error), is_final=False)
        self._sent_bytes = size
        self._backoff.reset()
        return True

    def _put_off(self, why: str, *, is_final: bool) -> bool:
        pause = self._backoff.failed() or 0.0  # there is no end to its patience
        _say(f"not synced: {why}" + ("" if is_final else f"; trying again in {pause:.0f} s"))
        self._is_refused = is_final
        self._try_at = time.monotonic() + pause
        return is_final

    def _sync_to_the_end(self) -> None:
        give_up_at = time.monotonic() + LAST_TRIES_SECONDS
        self._backoff, self._try_at = _backoff(), 0.0
        while not self._sync() and time.monotonic() < give_up_at:
            time.sleep(0.2)
        self._writer.close()


def _backoff() -> Backoff:
    return Backoff(math.inf, first_seconds=LOOK_SECONDS, longest_seconds=MAX_PAUSE_SECONDS)


def _say(line: str) -> None:
    print(time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), line, file=sys.stderr, flush=True)


def _detach(folder: str, leash: int) -> None:
    """Fork once more and let the parent end: the training process has no child that it could have to wait for."""
    if os.fork() != 0:
        os._exit(0)
    log = os.open(os.path.join(folder, "companion.log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)
    os.set_inheritable(leash, False)  # held open until the end: its end is how ours is noticed


def main() -> NoReturn:
    order = json.loads(sys.argv[1])
    _detach(order["folder"], int(sys.argv[2]))
    try:
        Companion(order["folder"], order["journal"], order["path"]).run()
    except FileNotFoundError as error:
        _say(f"the run's folder is gone: {error}")  # nothing left to look after
    os._exit(0)


if __name__ == "__main__":
    main()
