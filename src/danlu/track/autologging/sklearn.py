"""scikit-learn: log each `fit` of a script with its parameters, its duration and the training score."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from danlu.track import ending
from danlu.track.listen.patching import Call, Patches
from danlu.track.listen.target import Target
from danlu.track.values import brief, text_of
from danlu.track.warn import warn_once

MAX_SCORED_ROWS = 100_000
"""Scoring more rows would take longer than users expect from logging."""

METHODS = ("fit", "fit_transform", "fit_predict")


class _Busy:
    """The outermost fit, across all threads: fits inside another one count as part of it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner: Any = None

    def take(self, call: Call) -> bool:
        with self._lock:
            if self._owner is None:
                self._owner = call
            return self._owner is call

    def give_back(self, call: Call) -> bool:
        with self._lock:
            was_mine = self._owner is call
            if was_mine:
                self._owner = None
            return was_mine

    @property
    def is_deep(self) -> bool:
        """Whether a search or an ensemble fits many models."""
        call = self._owner
        return call is not None and any(hasattr(call.owner, name) for name in ("estimator", "estimators", "steps"))


busy = _Busy()


def install(patches: Patches, target: Target) -> None:
    listener = _Listener(target)

    def listen(kind: type) -> None:
        for name in METHODS:
            if name in vars(kind):
                patches.wrap(
                    kind, name, group="sklearn", before=listener.before, after=listener.after, failed=listener.failed
                )

    def install_into(module: ModuleType) -> None:
        base = module.BaseEstimator
        for kind in _below(base):
            listen(kind)
        # classes that are defined later, in modules of scikit-learn and others that are imported after this
        above = super(base, base).__init_subclass__

        def init_subclass(kind: type, /, **options: Any) -> None:
            above.__func__(kind, **options) if hasattr(above, "__func__") else above(**options)
            if patches.is_on:
                try:
                    listen(kind)
                except Exception as error:
                    warn_once("sklearn", f"{brief(kind, 100)} cannot be listened to: {brief(error, 300)}")

        if "__init_subclass__" not in vars(base):
            base.__init_subclass__ = classmethod(init_subclass)
            patches.on_undo(lambda: delattr(base, "__init_subclass__"))

    patches.when_there("sklearn.base", install_into)


class _Listener:
    def __init__(self, target: Target) -> None:
        self._target = target

    def before(self, call: Call) -> None:
        if not busy.take(call):
            return
        owner = call.owner
        name = type(owner).__name__
        call.notes["is_own"] = self._target.there is None
        run = call.notes["run"] = self._target.run(name)
        call.notes["began"] = time.perf_counter()  # also if the parameters of somebody's own class cannot be read
        run.hparams[name] = {key: _brief(value) for key, value in owner.get_params(deep=True).items()}
        call.notes["began"] = time.perf_counter()

    def after(self, call: Call) -> None:
        now = time.perf_counter()
        try:
            if "began" in call.notes:
                self._tell(call, now - call.notes["began"])
        finally:
            busy.give_back(call)
            if call.notes.get("is_own"):
                self._target.finish()

    def failed(self, call: Call) -> None:
        if busy.give_back(call) and call.notes.get("is_own"):
            if call.error is not None:
                call.notes["run"].finish(*ending.state_after(call.error))
            self._target.finish()

    def _tell(self, call: Call, seconds: float) -> None:
        run, owner = call.notes["run"], call.owner
        name = type(owner).__name__
        values = {f"{name}/fit_seconds": seconds}
        data, truth = call.argument("X", 1), call.argument("y", 2)
        if call.original.__name__ == "fit" and hasattr(owner, "score") and 0 < _rows(data) <= MAX_SCORED_ROWS:
            try:
                score = owner.score(data) if truth is None else owner.score(data, truth)
                values[f"{name}/{_score_name(owner)}"] = score
            except Exception as error:  # some need data of another shape for scoring
                warn_once(f"score {name}", f"{name} was not scored on what it was fitted to: {brief(error, 200)}")
        run.log("train", values)
        if hasattr(owner, "best_params_"):  # for a search
            run.summary[f"{name}.best_score"] = float(owner.best_score_)
            run.summary[f"{name}.best_params"] = {key: _brief(value) for key, value in owner.best_params_.items()}
        results = getattr(owner, "cv_results_", None)
        if isinstance(results, dict):
            columns = [key for key in results if key != "params"]
            rows = list(zip(*([_brief(value) for value in results[key]] for key in columns)))
            run.log_table(f"{name}/cv_results", columns, rows)


def _below(kind: type) -> Iterator[type]:
    below: list[type] = type.__subclasses__(kind)
    for one in below:
        yield one
        yield from _below(one)


def _score_name(owner: Any) -> str:
    kind = getattr(owner, "_estimator_type", None)
    if kind is None:
        from importlib import import_module

        base = import_module("sklearn.base")
        kind = "classifier" if base.is_classifier(owner) else "regressor" if base.is_regressor(owner) else ""
    if getattr(owner, "scoring", None):
        return "score"
    return {"classifier": "accuracy", "regressor": "r2"}.get(kind, "score")


def _rows(data: Any) -> int:
    shape = getattr(data, "shape", None)
    try:
        return int(shape[0]) if shape else len(data)
    except TypeError:
        return 0


def _brief(value: Any) -> Any:
    """Return a parameter as it is shown; nested models become text."""
    try:
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if hasattr(value, "item") and getattr(value, "size", 1) == 1:
            return value.item()
    except Exception:  # a foreign object may raise anything
        pass
    return text_of(value, 500)
