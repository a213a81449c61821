"""End runs for which nobody calls `finish`: the script ends, raises, calls `sys.exit`, or forks."""

from __future__ import annotations

import atexit
import builtins
import contextlib
import os
import sys
import threading
import weakref
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, NoReturn, Optional, cast

from danlu.track import spawning, termination, writer
from danlu.track.values import brief, kind_name, text_of
from danlu.track.warn import warn_once

if TYPE_CHECKING:
    from danlu.track.artifacts import Artifact
    from danlu.track.run import Run

_RAISE_AGAIN = ("asyncio.runners", "runpy")
"""Modules that run a script, or most of it. An exception that was caught after them has passed other code since."""

MAX_REASON = 2000
MAX_CODE = 200

_live: list[Run] = []
_open: list[Artifact] = []
_was_prepared = False
_worker = 0
"""Process of `multiprocessing` that was prepared."""

_failure: Optional[BaseException] = None
_newest_exit: Optional[weakref.ref[_Exit]] = None


class _Exit(SystemExit):
    """Raised by `sys.exit`. When it is deleted without a Python caller on the stack, it was not caught."""

    def __init__(self, *code: Any) -> None:
        global _newest_exit  # noqa: PLW0603
        super().__init__(*code)
        _newest_exit = weakref.ref(self)

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
    with contextlib.suppress(ValueError):
        _open.remove(artifact)


def _prepare() -> None:
    global _was_prepared  # noqa: PLW0603
    _prepare_worker()
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
    quitter = type(getattr(builtins, "exit", None))
    if quitter.__module__ == "_sitebuiltins":  # the functions `exit` and `quit`
        setattr(quitter, "__call__", _quit)  # noqa: B010 - a method of a class that is found at run time


def _prepare_worker() -> None:
    """A forked process of `multiprocessing` ends without `atexit`, and its exceptions get to no hook."""
    global _worker  # noqa: PLW0603
    util, process = (sys.modules.get(f"multiprocessing.{name}") for name in ("util", "process"))
    if util is None or process is None or process.parent_process() is None or _worker == os.getpid():
        return
    _worker = os.getpid()
    util.Finalize(None, _end_worker, exitpriority=0)


def _exit(status: Any = None, /) -> NoReturn:
    if threading.current_thread() is not threading.main_thread():
        raise SystemExit(status)  # ends the thread; Python prints any other class
    raise _Exit(status)


def _quit(_: object, code: Any = None) -> NoReturn:
    with contextlib.suppress(Exception):
        sys.stdin.close()
    _exit(code)


def forget(run: Run) -> None:
    with contextlib.suppress(ValueError):  # another thread was faster
        _live.remove(run)


def newest() -> Optional[Run]:
    """Return the last started run of this process that has not ended."""
    try:
        return _live[-1]
    except IndexError:
        return None


def state_after(error: BaseException) -> tuple[str, str]:
    """Return state and reason of a run that an exception ended. Never raises, whatever the exception's methods do."""
    kind = type(error)  # `isinstance` would also ask the exception itself for its class
    if issubclass(kind, SystemExit):
        is_well, told = _code_of(error)
        return ("finished", "") if is_well else ("failed", f"sys.exit({told})")
    if issubclass(kind, KeyboardInterrupt):
        return "stopped", "KeyboardInterrupt"
    name, text = kind_name(error), text_of(error, MAX_REASON)
    return "failed", f"{name}: {text}" if text else name


def reason_of(reason: object) -> str:
    """Return the text of a reason that the user gives: a text, an exception, or any other object."""
    if issubclass(type(reason), BaseException):
        return state_after(cast(BaseException, reason))[1]
    return "" if reason is None else text_of(reason, MAX_REASON)


def _code_of(error: Any) -> tuple[bool, str]:
    """Return whether Python ends with 0 after a SystemExit, and the text of its code."""
    try:
        code = error.code
    except Exception:
        return False, brief(error, MAX_CODE)
    return code is None or (issubclass(type(code), int) and int.__eq__(code, 0)), brief(code, MAX_CODE)


def _end_worker() -> None:
    global _failure  # noqa: PLW0603
    _failure = sys.exc_info()[1] or _failure
    _end_all()


def _ended_by() -> Optional[BaseException]:
    """Return the exception that ends the process, as far as known."""
    if _failure is not None:
        return _failure
    exit = None if _newest_exit is None else _newest_exit()  # alive in a cycle, as after `asyncio.run`
    if exit is not None and _left_script(exit):
        return exit
    # somebody else's hook, such as rich's, may have replaced the one above; a shell notes what did not end it
    last = None if hasattr(sys, "ps1") else getattr(sys, "last_value", None)
    return last if last is not None and _left_script(last) else None


def _left_script(error: BaseException) -> bool:
    """Whether an exception passed the outermost code of the script, and the script has not kept it."""
    trace = error.__traceback__
    if trace is None:
        return False
    around, script = trace.tb_frame, vars(sys.modules.get("__main__", builtins))
    is_outermost = around.f_code.co_name == "<module>" and around.f_globals is script
    is_outermost = is_outermost or around.f_globals.get("__name__") in _RAISE_AGAIN
    return is_outermost and not any(kept is error for kept in list(script.values()))


def _end_all() -> None:
    try:
        failure = _ended_by()
    except Exception as error:  # it looks at objects of the script and of other libraries
        failure = None
        warn_once("ended by", f"it is not known how the script ended: {brief(error, 300)}")
    state, reason = ("finished", "") if failure is None else state_after(failure)
    for artifact in list(_open) if state == "finished" else ():
        safely(artifact.finish)
    for run in list(_live):
        safely(run.finish, *(("finished", "") if run.is_complete else (state, reason)))
    for action in (writer.give_up, termination.stop, spawning.leave):
        safely(action)


def safely(action: Callable[..., object], *args: str) -> None:
    """Do one of the last things; a problem is one warning, and does not keep the others from being done."""
    try:
        action(*args)
    except Exception as error:
        warn_once("end", f"a run or an artifact could not be ended: {brief(error, 300)}")


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
