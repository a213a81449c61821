"""Intercept calls of other libraries. Patches are installed when a library is imported, and undone together.

Patched functions behave as before: the original gets its arguments, and its result and exceptions go to the caller. An
error in a listener is one warning.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType, TracebackType
from typing import Any, Callable, Optional

from danlu.track.values import MAX_NAME, brief, text_of
from danlu.track.warn import warn_once

Listener = Callable[["Call"], None]


class Call:
    """One call of a patched function."""

    def __init__(self, original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.original = original
        self.args = args
        self.kwargs = kwargs
        self.result: Any = None
        self.error: Optional[BaseException] = None
        self.notes: dict[str, Any] = {}
        """Data that `before` passes to `after`."""

    @property
    def owner(self) -> Any:
        """The object whose method is called."""
        return self.args[0] if self.args else None

    def argument(self, name: str, at: int, *, otherwise: Any = None) -> Any:
        """Return the argument of this name or at this position; `self` is position 0."""
        if name in self.kwargs:
            return self.kwargs[name]
        return self.args[at] if len(self.args) > at else otherwise

    def replace(self, name: str, at: int, *, value: Any) -> None:
        """Replace an argument for the original."""
        if len(self.args) > at and name not in self.kwargs:
            self.args = (*self.args[:at], value, *self.args[at + 1 :])
        else:
            self.kwargs = {**self.kwargs, name: value}


class Patches:
    """The patches of one call of `mirror_...`, `autolog` or `watch`. A context manager that undoes them."""

    def __init__(self) -> None:
        self.is_on = True
        self._undo: list[Callable[[], None]] = []

    def undo(self) -> None:
        """Undo all patches. One that other code has wrapped since stays in place, and does nothing any more."""
        self.is_on = False
        while self._undo:
            try:
                self._undo.pop()()
            except Exception as error:
                warn_once("undo", f"a change could not be taken back: {brief(error, 300)}")

    def __enter__(self) -> Patches:
        return self

    def __exit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], _: Optional[TracebackType]
    ) -> None:
        self.undo()

    def on_undo(self, action: Callable[[], None]) -> None:
        self._undo.append(action)

    def wrap(
        self,
        owner: Any,
        name: str,
        *,
        group: str = "",
        before: Optional[Listener] = None,
        after: Optional[Listener] = None,
        failed: Optional[Listener] = None,
    ) -> None:
        """Listen to a function of a module, or a method of a class. Does nothing when there is none of that name.

        Of nested calls of the same `group`, only the outermost is reported; without a group, of recursive calls of this
        function.
        """
        original = getattr(owner, name, None)
        if not callable(original):
            return
        is_own, kept = name in vars(owner), vars(owner).get(name)
        key = (id(self), group or f"{id(owner)}.{name}")

        @functools.wraps(original)
        def listened(*args: Any, **kwargs: Any) -> Any:
            if not self.is_on:
                return original(*args, **kwargs)
            call = Call(original, args, kwargs)
            with _outermost(key) as is_first:
                if is_first:
                    _safely(before, call)
                try:
                    call.result = original(*call.args, **call.kwargs)
                except BaseException as error:
                    call.error = error
                    if is_first:
                        _safely(failed, call)
                    raise
                if is_first:
                    _safely(after, call)
            return call.result

        setattr(owner, name, listened)

        def take_back() -> None:
            if vars(owner).get(name) is not listened:
                return
            if is_own:
                setattr(owner, name, kept)
            else:
                delattr(owner, name)

        self.on_undo(take_back)

    def when_there(self, module: str, install: Callable[[ModuleType], None]) -> None:
        """Call `install` with a module: now if it is already imported, else as soon as it is."""

        def safely(found: ModuleType) -> None:
            if self.is_on:
                try:
                    install(found)
                except Exception as error:
                    warn_once(module, f"{module} cannot be listened to: {brief(error, 300)}")

        there = sys.modules.get(module)
        if there is not None and not getattr(getattr(there, "__spec__", None), "_initializing", False):
            safely(there)
        else:
            _finder.watch(module, safely)
            self.on_undo(lambda: _finder.forget(module, safely))


class _Inside(threading.local):
    def __init__(self) -> None:
        self.keys: set[tuple[int, str]] = set()


_inside = _Inside()


@contextmanager
def _outermost(key: tuple[int, str]) -> Iterator[bool]:
    """Yield whether this is the outermost call of its group in this thread."""
    if key in _inside.keys:
        yield False
        return
    _inside.keys.add(key)
    try:
        yield True
    finally:
        _inside.keys.discard(key)


def _safely(listener: Optional[Callable[[Call], None]], call: Call) -> None:
    if listener is None:
        return
    try:
        listener(call)
    except Exception as error:
        name = _name_of(call.original)
        warn_once(f"listen {name}", f"{name} was called, and could not be written down: {brief(error, 300)}")


def _name_of(function: Any) -> str:
    try:
        return text_of(function.__qualname__, MAX_NAME)
    except Exception:  # a callable object; a foreign one may raise anything
        return brief(function)


class _Looking(threading.local):
    def __init__(self) -> None:
        self.names: set[str] = set()


class _Finder:
    """First entry of sys.meta_path while waiting for modules. Calls the other finders, and hooks into the loader."""

    def __init__(self) -> None:
        self._waiting: dict[str, list[Callable[[ModuleType], None]]] = {}
        self._looking = _Looking()
        """What this thread asks the other finders for; they may look for other modules meanwhile, and for the same."""

    def watch(self, module: str, action: Callable[[ModuleType], None]) -> None:
        self._waiting.setdefault(module, []).append(action)
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)

    def forget(self, module: str, action: Callable[[ModuleType], None]) -> None:
        actions = self._waiting.get(module, [])
        if action in actions:
            actions.remove(action)
        if not actions:
            self._waiting.pop(module, None)
        if not self._waiting and self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(self, name: str, *_: Any) -> Optional[ModuleSpec]:
        if name not in self._waiting or name in self._looking.names:
            return None
        self._looking.names.add(name)
        try:
            spec = find_spec(name)
        finally:
            self._looking.names.discard(name)
        if spec is None or spec.loader is None or not hasattr(spec.loader, "exec_module"):
            return spec
        self._tell_after(name, spec.loader)
        return spec

    def _tell_after(self, name: str, loader: Any) -> None:
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            loader.exec_module = execute
            execute(module)
            for action in self._waiting.pop(name, []):
                action(module)
            if not self._waiting and self in sys.meta_path:
                sys.meta_path.remove(self)

        loader.exec_module = exec_module


_finder = _Finder()
