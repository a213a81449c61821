"""XGBoost and LightGBM: metrics of all data sets after each round, parameters, and feature importances."""

from __future__ import annotations

from types import ModuleType
from typing import Any, Optional

from danlu.journal.words import TYPES
from danlu.track import ending
from danlu.track.autologging.sklearn import busy
from danlu.track.listen.patching import Call, Patches
from danlu.track.listen.target import Target
from danlu.track.run import Run
from danlu.track.values import type_word

MAX_FEATURES = 1000


def install_xgboost(patches: Patches, target: Target) -> None:
    def before(call: Call) -> None:
        from importlib import import_module

        run = _begin(call, target, "xgboost")
        if run is None:
            return
        run.hparams.update(dict(call.argument("params", 0) or {}))
        rounds = call.argument("num_boost_round", 2, otherwise=10)
        run.hparams["num_boost_round"] = rounds
        call.kwargs = {
            **call.kwargs,
            "callbacks": [*(call.kwargs.get("callbacks") or ()), _after_round(import_module("xgboost"), run)],
        }

    def after(call: Call) -> None:
        run = call.notes.get("run")
        if run is not None:
            _importance(run, call.result.get_score(importance_type="gain"))
        _end(call, target)

    _install(patches, ("xgboost.training", "xgboost.sklearn", "xgboost"), before, after, target)


def install_lightgbm(patches: Patches, target: Target) -> None:
    def before(call: Call) -> None:
        run = _begin(call, target, "lightgbm")
        if run is None:
            return
        run.hparams.update(dict(call.argument("params", 0) or {}))

        def listen(about: Any) -> None:
            found: dict[str, dict[str, float]] = {}
            for data, metric, value, *_ in about.evaluation_result_list or ():
                found.setdefault(_type_of(data), {})[metric] = value
            for type, values in found.items():
                run.log(type, values, about.iteration)

        call.kwargs = {**call.kwargs, "callbacks": [*(call.kwargs.get("callbacks") or ()), listen]}

    def after(call: Call) -> None:
        run, model = call.notes.get("run"), call.result
        if run is not None:
            counts = model.feature_importance(importance_type="gain")
            _importance(run, dict(zip(model.feature_name(), (float(count) for count in counts))))
        _end(call, target)

    _install(patches, ("lightgbm.engine", "lightgbm.sklearn", "lightgbm"), before, after, target)


def _install(patches: Patches, modules: tuple[str, ...], before: Any, after: Any, target: Target) -> None:
    def failed(call: Call) -> None:
        if call.notes.get("is_own") and call.error is not None:
            call.notes["run"].finish(*ending.state_after(call.error))
        _end(call, target)

    def install(module: ModuleType) -> None:
        patches.wrap(module, "train", group=modules[0], before=before, after=after, failed=failed)

    for name in modules:  # each has the function under its own name
        patches.when_there(name, install)


def _begin(call: Call, target: Target, name: str) -> Optional[Run]:
    """Return the run for a call; None inside a search that fits many models, whose rounds would be mixed up."""
    if busy.is_deep:
        return None
    call.notes["is_own"] = target.there is None
    run = target.run(name)
    call.notes["run"] = run
    return run


def _end(call: Call, target: Target) -> None:
    if call.notes.get("is_own"):
        target.finish()


def _after_round(xgboost: Any, run: Run) -> Any:
    class Rounds(xgboost.callback.TrainingCallback):  # type: ignore[misc]
        def after_iteration(self, *seen: Any) -> bool:
            _, epoch, evals_log = seen
            for data, metrics in evals_log.items():
                values = {name: history[-1] for name, history in metrics.items()}
                # in cross-validation, values are (mean, standard deviation)
                run.log(_type_of(data), {k: v[0] if isinstance(v, tuple) else v for k, v in values.items()}, epoch)
            return False

    return Rounds()


def _type_of(data: str) -> str:
    """Return the type for a data set: `valid_0` and `validation_0`, as the scikit-learn wrappers say, are `val`."""
    first, _, number = str(data).rpartition("_")
    if number == "0" and first.lower() in TYPES:
        return type_word(first)
    return type_word(data)


def _importance(run: Run, gains: dict[str, Any]) -> None:
    order = sorted(gains.items(), key=lambda one: -float(one[1]))[:MAX_FEATURES]
    if order:
        run.log_table("feature_importance", ["feature", "gain"], [[name, float(gain)] for name, gain in order])
