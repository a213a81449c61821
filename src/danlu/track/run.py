"""A run in the training process. Its methods never block and never raise, so that they cannot disturb the training."""

from __future__ import annotations

import math
import operator
import os
import threading
import time
from collections.abc import Mapping
from struct import Struct
from types import TracebackType
from typing import Any, NamedTuple, Optional, Union

from danlu import journal
from danlu.journal import Layout
from danlu.track import ending, media, output
from danlu.track.artifacts import Artifact
from danlu.track.mappings import Noted, taken
from danlu.track.saying import SaysMore
from danlu.track.values import (
    MAX_NAME,
    MAX_STEP,
    brief,
    is_a,
    is_true,
    numbers_of,
    plain_numbers,
    text_of,
    to_number,
    to_plain,
    to_step,
    type_word,
    without_type,
)
from danlu.track.warn import warn_once
from danlu.track.writer import LATE_SECONDS, Rows, Writer

END_STATES = ("finished", "failed", "stopped")
MAX_SERIES = 20_000
MAX_NAMES = 4000
"""Maximum number of values per call. Their names, of up to 200 characters, must fit into one frame."""

OUTPUT_BYTES = 256 << 10
"""Maximum output per frame."""

_ROOM = f"a value has at most 1 MiB, all values together {journal.MAX_MAPPING_BYTES >> 20} MiB"
_NAN = math.nan
_now = time.time
_index = operator.index


class _Declared(NamedTuple):
    """A layout whose frame has been written."""

    rows: Rows
    struct: Struct


class Run(SaysMore):
    """The result of `track.start`. Thread-safe; silent in a forked child."""

    def __init__(self, header: Mapping[str, Any], folder: str, writer: Optional[Writer]) -> None:
        self.id = str(header["run"])
        self.name = str(header["name"])
        self.path = folder
        """Folder of this run on this machine, for `danlu sync` and `track.load`."""

        self.is_complete = False  # when nothing more is expected, it is finished however the script ends
        self._header = header
        self._writer = writer
        self._declared: dict[tuple[Any, ...], _Declared] = {}
        self._declaring = threading.Lock()
        self._branch = int(header.get("branch") or 1)
        self._next_step = 0
        self._state: Optional[str] = None
        self._rooms: dict[str, journal.Room] = {}
        self._hparams = Noted("hparams", None, note=lambda new, gone: self._set("hparams", new, gone))
        self._summary = Noted("summary", None, note=lambda new, gone: self._set("summary", new, gone))
        self._labels: list[str] = list(header.get("labels") or ())
        self._description = str(header.get("description") or "")
        self._alerted: dict[str, float] = {}
        self._made: list[Artifact] = []
        self._output = output.Bounded(self._add_output)

    # points

    def log(
        self,
        type: Union[str, Mapping[str, Any]],
        metrics: Union[Mapping[str, Any], int, None] = None,
        step: Optional[int] = None,
        epoch: Optional[float] = None,
        *,
        flush: bool = False,
    ) -> None:
        """Log values of one step: `log("val", {"loss": x}, step=i)`; the default type is `train`.

        The default step is the last one plus one. Never blocks or raises; with `flush`, returns when the values are in
        the file. Values are numbers, NumPy scalars or tensors with one element; NaN and infinity are kept.
        """
        values: Any = metrics
        writer: Any = self._writer  # None after the end; handling the AttributeError below is cheaper than a check
        try:
            if metrics is None or isinstance(type, dict):
                type, values, step = without_type(type, metrics, step=step)
            if step is None:
                step = self._next_step
            key = (type, *values)
            declared = self._declared.get(key) or self._declare(key)
            now = _now()
            row = declared.struct.pack(step, now, _NAN if epoch is None else epoch, *plain_numbers(values.values()))
            self._next_step = _index(step) + 1  # a NumPy number could begin anew at its highest
            writer.pending.append((declared.rows, row))
            if not writer.is_scheduled:
                writer.schedule(now)
            elif not 0 <= now - writer.scheduled_at < LATE_SECONDS:
                writer.flush_late(now)
        except Exception as error:  # never interrupt training, whatever is wrong with the values
            self._log_slowly(type, values, step, epoch, error)
        if flush is not False and is_true(flush):
            self.flush()

    def log_past(
        self, type: str, metrics: Mapping[str, Any], step: int, *, time: float, epoch: Optional[float] = None
    ) -> None:
        """Like `log`, for values of an earlier time: for importing runs of other trackers."""
        self._log_slowly(type, metrics, step, epoch, None, time=time)

    def rewind(self, step: int) -> None:
        """Continue training from this step: points logged from there on remain visible as an old branch."""
        at = to_step(step)
        if at is None:
            warn_once("rewind", f"rewind({brief(step)}): a step is a whole number")
            return
        self._branch += 1
        self._next_step = at
        self._add(journal.encode_branch(self._branch, from_step=at, time=_now()))

    # values

    @property
    def hparams(self) -> Noted:
        return self._hparams

    @hparams.setter
    def hparams(self, values: Any) -> None:
        self._hparams.replace(taken("hparams", values))

    @property
    def summary(self) -> Noted:
        return self._summary

    @summary.setter
    def summary(self, values: Mapping[str, Any]) -> None:
        self._summary.replace(taken("summary", values))

    # lineage

    def mark_input(self, artifact: Artifact) -> None:
        """Record that this run has read an artifact. A problem is one warning."""
        self._mark(artifact, "input")

    def mark_output(self, artifact: Artifact) -> None:
        """Record that this run has produced an artifact, which is finished together with the run at the latest."""
        self._mark(artifact, "output")

    # the end

    @property
    def state(self) -> str:
        """`running`, or how it ended."""
        return self._state or "running"

    def finish(self, state: str = "finished", reason: Union[str, BaseException] = "") -> None:
        """End the run as `finished`, `failed` or `stopped`. The reason is a text or an exception. Second calls do
        nothing."""
        word = str.__str__(state) if issubclass(type(state), str) else ""
        if word not in END_STATES:
            warn_once("finish", f"finish({brief(state)}): known are {', '.join(END_STATES)}; taken as failed")
            word = "failed"
        if self._state is not None:
            return
        for artifact in self._made:
            ending.safely(artifact.finish)
        self._state = word
        output.stop(self._output)
        ending.forget(self)
        writer, self._writer = self._writer, None  # log() fails on it, and warns
        try:
            if writer is not None and writer.is_open:
                writer.add(journal.encode_finish(word, time=_now(), reason=ending.reason_of(reason)))
                writer.close()
        except Exception as error:
            warn_once("finish", f"the end of the run could not be written: {brief(error, 300)}")

    def upload(
        self,
        folder: Optional[str] = None,
        make_folder: bool = False,
        conflict: str = "new",
        timeout_seconds: float = 120,
    ) -> bool:
        """Upload the run now and wait. Return whether it is on the server; if not, one warning tells why.

        `conflict` decides about a run of the same name in the folder: `new` keeps both, `skip` does not upload this
        one, `error` fails, `replace` moves the other one to the trash.
        """
        from danlu.track.uploading import upload

        self.flush()
        try:
            done = upload(
                self.path, folder=folder, make_folder=make_folder, conflict=conflict, timeout_seconds=timeout_seconds
            )
        except Exception as error:  # an argument of a wrong type
            warn_once("upload", f"{self.name} was not uploaded: {brief(error, 300)}")
            return False
        if not done.is_there:
            warn_once("upload", f"{self.name} was not uploaded: {done.message}")
        return done.is_there

    def flush(self) -> None:
        """Return when everything logged so far is in the file, or cannot be written."""
        try:
            if self._writer is not None:
                self._writer.flush()
        except Exception as error:
            warn_once("writer", f"{self.path}: what was logged could not be written: {brief(error, 300)}")

    def __enter__(self) -> Run:
        return self

    def __exit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], _: Optional[TracebackType]
    ) -> None:
        self.finish(*(() if error is None else ending.state_after(error)))

    def __repr__(self) -> str:
        return f"<Run {self.name!r} {self.id} {self.state}>"

    # internal

    def begin(self, hparams: Any) -> None:
        """Record the first values, and handle the end of the process. Called once."""
        if hparams is not None:
            self._hparams.update(taken("hparams", hparams))
        output.listen(self._output)
        ending.remember(self)

    def go_on(self, hparams: Mapping[str, Any], summary: Mapping[str, Any], next_step: int) -> None:
        """Take over the values of an earlier process of the run; nothing is written."""
        self._rooms = {"hparams": journal.Room(to_plain(hparams)), "summary": journal.Room(to_plain(summary))}
        self._hparams = Noted("hparams", hparams, note=lambda new, gone: self._set("hparams", new, gone))
        self._summary = Noted("summary", summary, note=lambda new, gone: self._set("summary", new, gone))
        self._next_step = next_step

    def append_from(self, step: int) -> None:
        """Go on with this step, and hide nothing of an earlier process, whatever the steps of later points are."""
        self._next_step = step
        self._add(journal.encode_branch(self._branch, from_step=step, time=_now()))

    def capture_output(self, is_on: bool) -> None:
        """Record what is printed from now on, or no longer."""
        if is_on and self._writer is not None:
            output.listen(self._output)
        else:
            output.stop(self._output)

    def after_fork(self) -> None:
        """In a forked child: become silent. The journal belongs to the parent."""
        if self._writer is not None:
            self._writer.abandon()
        self._writer = None
        self._state = "silent"

    def _mark(self, artifact: Artifact, kind: str) -> None:
        try:
            artifact.link(self, kind)
            if kind == "output":
                self._made.append(artifact)
        except Exception as error:
            warn_once(f"mark {kind}", f"mark_{kind}({brief(artifact)}) could not be kept: {brief(error, 300)}")

    def _declare(self, key: tuple[Any, ...]) -> _Declared:
        """Write the frame of a layout once."""
        with self._declaring:
            known = self._declared.get(key)
            if known is not None:
                return known
            if len(self._declared) >= MAX_SERIES:
                raise ValueError(f"more than {MAX_SERIES} sets of metric names; is a name made from a number?")
            names = tuple(text_of(name, MAX_NAME) for name in key[1:])
            if len(names) > MAX_NAMES:
                raise ValueError(f"{len(names)} values in one call; {MAX_NAMES} are the most")
            layout = Layout(len(self._declared) + 1, type_word(key[0]), names)
            struct = journal.row_struct(len(names))
            made = _Declared(Rows(layout.number, struct.size), struct)
            self._add(journal.encode_layout(layout))
            self._declared[key] = made
            return made

    def add_media(
        self, kind: str, name: str, *, step: Optional[int], type: str, value: Any, time: Optional[float] = None
    ) -> None:
        """Record a text, an image, a histogram or another medium."""
        try:
            about = {
                "kind": kind,
                "type": type_word(type),
                "name": text_of(name, MAX_NAME),
                "step": max(0, self._next_step - 1) if step is None else self._step_of(step),
                "time": _now() if time is None else time,
            }
            # the parts of one medium must be contiguous, whatever other threads write
            self._add(b"".join(media.FRAMES[kind](about, value)))
        except Exception as error:
            warn_once(f"{kind} {brief(name)}", f"log_{kind}({brief(name)}) could not be kept: {brief(error, 300)}")

    def _step_of(self, given: Any) -> int:
        """Return a step that the user gave, or the next one, with a warning."""
        step = to_step(given)
        if step is None:
            warn_once("step", f"step is {brief(given)}, which is no whole number; the next one is used")
        return min(self._next_step, MAX_STEP) if step is None else step

    def _log_slowly(
        self,
        type: Any,
        metrics: Any,
        step: Any,
        epoch: Any,
        error: Optional[Exception],
        *,
        time: Optional[float] = None,
    ) -> None:
        """Handle a call that failed in the fast path: keep its valid values."""
        try:
            if self._writer is None or self._state is not None:
                if self._state != "silent":
                    warn_once("after", f"{self.name}: log() after finish() is not kept")
                return
            if is_a(type, Mapping):
                type, metrics, step = without_type(type, metrics, step=step)
            if not is_a(metrics, Mapping):
                warn_once(
                    "metrics", f"log() takes a mapping of names to numbers, not {brief(metrics)}; nothing is kept"
                )
                return
            kept = numbers_of(metrics)
            at = min(self._next_step, MAX_STEP) if step is None else self._step_of(step)
            during = to_number(epoch) if epoch is not None else None
            if not kept:
                return
            declared = self._declare((type, *kept))
            now = _now() if time is None else time
            row = declared.struct.pack(at, now, _NAN if during is None else during, *kept.values())
            self._writer.pending.append((declared.rows, row))
            self._writer.schedule(_now())
            self._next_step = at + 1
        except Exception as second:
            warn_once("log", f"log() could not keep a value: {brief(error, 200)}, {brief(second, 200)}")

    def _set(self, field: str, new: Mapping[str, Any], gone: list[str]) -> None:
        try:
            room = self._rooms.setdefault(field, journal.Room())
            frames, lost = journal.encode_sets(field, to_plain(new), room=room, remove=gone, time=_now())
            for frame in frames:
                self._add(frame)
            for key in lost:
                warn_once(f"{field} {key}", f"{field}[{key!r:.80}] is left out: {_ROOM}")
        except Exception as error:
            warn_once(field, f"{field} could not be kept: {brief(error, 300)}")

    def _add_output(self, stream: int, data: bytes) -> None:
        for first in range(0, len(data), OUTPUT_BYTES):
            self._add(journal.encode_output(stream, _now(), data[first : first + OUTPUT_BYTES]))

    def _add(self, frame: bytes) -> None:
        if self._writer is not None and self._writer.is_open:
            self._writer.add(frame)


class SilentRun(Run):
    """A run that writes nothing: on ranks other than 0, and when tracking is off."""

    def __init__(self, name: object) -> None:
        super().__init__({"run": "run-silent", "name": text_of(name, MAX_NAME)}, os.devnull, None)

    def log(self, *_: Any, **__: Any) -> None:
        """Do nothing."""

    def mark_input(self, artifact: Artifact) -> None:
        """Do nothing."""

    def mark_output(self, artifact: Artifact) -> None:
        """Do nothing."""

    def upload(self, *_: Any, **__: Any) -> bool:
        return True
