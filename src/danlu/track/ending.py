"""End runs for which nobody calls `finish`: the script ends, raises, calls `sys.exit`, or forks."""

from __future__ import annotations

import atexit
import os
import sys
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Optional

from danlu.track import spawning, termination, writer

if TYPE_CHECKING:
    from danlu.track.artifact import Artifact
    from danlu.track.run import Run

_live: list[Run] = []
_open: list[Artifact] = []
_was_prepared = False
_failure: Optional[BaseException] = None


class _Exit(SystemExit):
    """Raised by `sys.exit`. When it is deleted without a Python caller on the stack, it was not caught."""

    def __del__(self) -> None:
        global _failure  # noqa: PLW0603
        if _failure is None and sys._getframe().f_back is None:
            _failure = SystemExit(self.code)


def remember(run: Run) -> None:
    """End this run when the process ends."""
    _live.append(run)
    termination.leave_trace(run.path)
    _prepare()


def remember_artifact(artifact: Artifact) -> None:
    """Finish this artifact when the process ends normally; after an exception it may be incomplete."""
    _open.append(artifact)
    _prepare()


def forget_artifact(artifact: Artifact) -> None:
    if artifact in _open:
        _open.remove(artifact)


def _prepare() -> None:
    global _was_prepared  # noqa: PLW0603
    if _was_prepared:
        return
    _was_prepared = True
    atexit.register(_end_all)
    os.register_at_fork(after_in_child=_silence)
    previous = sys.excepthook

    def note(kind: type[BaseException], error: BaseException, trace: Optional[TracebackType]) -> Any:
        global _failure  # noqa: PLW0603
        _failure = error
        return previous(kind, error, trace)

    sys.excepthook = note
    sys.exit = _exit


def _exit(status: Any = None, /) -> NoReturn:
    raise _Exit(status)


def forget(run: Run) -> None:
    if run in _live:
        _live.remove(run)


def newest() -> Optional[Run]:
    """Return the last started run of this process that has not ended."""
    return _live[-1] if _live else None


def state_after(error: BaseException) -> tuple[str, str]:
    """Return state and reason of a run that an exception ended."""
    if isinstance(error, SystemExit):
        is_well = error.code in (None, 0)
        return ("finished", "") if is_well else ("failed", f"sys.exit({error.code!r:.200})")
    if isinstance(error, KeyboardInterrupt):
        return "stopped", "KeyboardInterrupt"
    text = str(error)
    return "failed", f"{type(error).__name__}: {text}" if text else type(error).__name__


def _end_all() -> None:
    is_well = _failure is None or state_after(_failure)[0] == "finished"
    for artifact in list(_open) if is_well else ():
        artifact.finish()
    for run in list(_live):
        run.finish(*(state_after(_failure) if _failure is not None else ("finished", "")))
    writer.give_up()
    termination.stop()
    spawning.leave()


def _silence() -> None:
    spawning.after_fork()
    termination.stop(is_child=True)
    for run in list(_live):
        run.after_fork()
    _live.clear()
    writer.after_fork()
    for artifact in list(_open):
        artifact.after_fork()
    _open.clear()
