"""`track.mirror_wandb()`: also log to a run what a script passes to W&B."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any, Optional

from danlu.track.listen.patching import Call, Patches
from danlu.track.listen.target import give_output
from danlu.track.run import Run
from danlu.track.tensorboard import split_tag
from danlu.track.values import MAX_KEY, brief, is_a, text_of, to_number
from danlu.track.warn import warn_once

MODULE = "wandb.sdk"
MAX_DEPTH = 8
LEVELS = {"INFO": "info", "WARN": "warning", "ERROR": "error"}


def mirror_wandb(run: Optional[Run] = None) -> Patches:
    """Also log to a run what `wandb.init`, `log`, `config`, `summary`, `alert` and `finish` get.

    May be called before or after wandb is imported, also while a W&B run is active. Without `run`, each W&B run gets a
    run of its own, in a folder named after its project. The W&B run itself is not affected, online or offline; runs
    with mode `disabled` are ignored. `undo()` of the result ends it.
    """
    patches = Patches()
    mirror = _Mirror(run)

    def install(module: ModuleType) -> None:
        runs = module.wandb_run.Run
        for name, listener in (("log", mirror.log), ("alert", mirror.alert), ("define_metric", mirror.define_metric)):
            patches.wrap(runs, name, group=name, before=mirror.before, after=listener)
        patches.wrap(runs, "finish", before=mirror.before, after=mirror.finish)
        patches.wrap(runs, "__exit__", before=mirror.before, after=mirror.leave)
        for name in ("update", "__setitem__", "__setattr__"):
            patches.wrap(module.wandb_config.Config, name, group="config", after=mirror.config)
        for name in ("update", "__setitem__", "__setattr__"):
            patches.wrap(module.wandb_summary.SummaryDict, name, group="summary", after=mirror.summary)
        package = sys.modules.get("wandb")
        patches.wrap(module.wandb_init, "init", group="init", after=mirror.init)
        for owner in (module, package):
            if owner is not None:
                patches.wrap(owner, "init", group="init", after=mirror.init)
        _bind_again(package, patches)

    patches.when_there(MODULE, install)
    patches.when_there("wandb", lambda module: patches.wrap(module, "init", group="init", after=mirror.init))
    patches.on_undo(mirror.end)
    return patches


def _bind_again(package: Any, patches: Patches) -> None:
    """Rebind `wandb.log` and others, which are methods of the active run, to the patched methods."""
    going_on = getattr(package, "run", None)
    for name in ("log", "alert", "finish", "define_metric"):
        if going_on is not None and getattr(getattr(package, name, None), "__self__", None) is going_on:
            before = getattr(package, name)
            setattr(package, name, getattr(going_on, name))
            patches.on_undo(lambda name=name, before=before: setattr(package, name, before))  # type: ignore[misc]


class _Mirror:
    def __init__(self, run: Optional[Run]) -> None:
        self._given = run
        self._runs: dict[int, tuple[Any, Run]] = {}
        """By id() of W&B's run. The run is kept, so that the id is not reused."""

    def init(self, call: Call) -> None:
        if call.result is not None:
            self._run_of(call.result)

    def before(self, call: Call) -> None:
        """Read run and step before the call: W&B increments the step in `log`, and drops its run in `finish`."""
        call.notes["run"] = self._run_of(call.owner)
        call.notes["step"] = getattr(call.owner, "step", None)

    def log(self, call: Call) -> None:
        run: Optional[Run] = call.notes.get("run")
        values = call.argument("data", 1)
        if run is None or not isinstance(values, Mapping):
            return
        step = call.argument("step", 2)
        at = call.notes.get("step") if step is None else step
        numbers: dict[str, dict[str, Any]] = {}
        for tag, value in _flattened(values):
            type, name = split_tag(tag, "train")
            if to_number(value) is not None:
                numbers.setdefault(type, {})[name] = value
                continue
            try:
                _log_medium(run, name, value, step=at, type=type)
            except Exception as error:  # the others are kept
                warn_once(f"wandb {name}", f"{name!r} of W&B could not be mirrored: {brief(error, 300)}")
        for type, found in numbers.items():
            run.log(type, found, at)

    def alert(self, call: Call) -> None:
        run: Optional[Run] = call.notes.get("run")
        if run is not None:
            level = call.argument("level", 3)
            word = str(getattr(level, "value", level) or "INFO").upper()
            run.alert(call.argument("title", 1), call.argument("text", 2, otherwise=""), LEVELS.get(word, "info"))

    def define_metric(self, call: Call) -> None:
        run: Optional[Run] = call.notes.get("run")
        name, axis = call.argument("name", 1), call.argument("step_metric", 2)
        if run is not None and axis is not None:
            axis = getattr(axis, "name", axis)
            run.define_axis(axis_name(str(name)), axis_name(str(axis)))

    def config(self, call: Call) -> None:
        for other, run in list(self._runs.values()):
            if getattr(other, "config", None) is call.owner:
                run.hparams.update(dict(other.config))

    def summary(self, call: Call) -> None:
        for other, run in list(self._runs.values()):
            if getattr(other, "summary", None) is call.owner:
                given = call.args[1:]
                if len(given) == 2:
                    run.summary[str(given[0])] = given[1]
                else:
                    run.summary.update(dict(*given, **call.kwargs))

    def finish(self, call: Call) -> None:
        code = call.argument("exit_code", 1)
        self._finish(call.owner, bool(code))

    def leave(self, call: Call) -> None:
        self._finish(call.owner, call.argument("exc_type", 1) is not None)

    def end(self) -> None:
        for other, run in list(self._runs.values()):
            if run is not self._given:
                run.finish()
            self._runs.pop(id(other), None)

    def _finish(self, other: Any, has_failed: bool) -> None:
        _, run = self._runs.pop(id(other), (None, None))
        if run is not None and run is not self._given:
            run.finish("failed" if has_failed else "finished")
            self._give_output()

    def _run_of(self, other: Any) -> Optional[Run]:
        if id(other) in self._runs:
            return self._runs[id(other)][1]
        if getattr(other, "disabled", False):
            return None
        run = self._given or _begun_like(other)
        if self._given is not None:
            run.hparams.update(dict(other.config))
        self._runs[id(other)] = (other, run)
        self._give_output()
        return run

    def _give_output(self) -> None:
        if self._given is None:
            give_output(run for _, run in list(self._runs.values()))


def _begun_like(other: Any) -> Run:
    from danlu.track.begin import start

    about = {name: getattr(other, name, None) for name in ("name", "id", "project", "group", "tags", "notes")}
    return start(
        str(about["name"] or about["id"] or "wandb"),
        dict(other.config),
        folder=_folder(about["project"]),
        labels=[str(tag) for tag in about["tags"] or ()],
        description=str(about["notes"] or ""),
        group=str(about["group"]) if about["group"] else None,
    )


def _folder(project: Any) -> Optional[str]:
    text = str(project or "").strip("/")
    return text or None


def axis_name(tag: str) -> str:
    """Convert the name of an axis. `*` means all W&B metrics, whatever their type here."""
    return tag if tag == "*" else "/".join(split_tag(tag, "train"))


def _flattened(values: Mapping[Any, Any], before: str = "", depth: int = 0) -> Any:
    for key, value in values.items():
        name = f"{before}{text_of(key, MAX_KEY)}"
        if is_a(value, Mapping) and depth < MAX_DEPTH:
            yield from _flattened(value, f"{name}.", depth + 1)
        else:
            yield name, value


def _log_medium(run: Run, name: str, value: Any, *, step: Any, type: str) -> None:
    """Log a W&B object that is not a number, by the name of its class."""
    if isinstance(value, (list, tuple)) and value and all(_kind(one) == "Image" for one in value):
        captions = [getattr(one, "_caption", None) or "" for one in value]
        run.log_images(name, [_picture(one) for one in value], step, captions=captions, type=type)
        return
    kind = _kind(value)
    if kind == "Image":
        run.log_image(name, _picture(value), step, type=type)
    elif kind == "Histogram":
        from danlu.track import media

        counted = media.counted([float(edge) for edge in value.bins], [int(count) for count in value.histogram])
        run.add_media("histogram", name, step=step, type=type, value=counted)
    elif kind == "Table":
        run.log_table(name, value.columns, value.data, step, type=type)
    elif kind == "Html":
        run.log_html(name, value.html, step, type=type)
    elif kind == "Audio":
        run.log_audio(name, value._path, step, type=type)
    elif kind == "Video":
        run.log_video(name, value._path, step, type=type)
    elif kind == "Plotly":
        with open(value._path) as file:
            run.log_figure(name, _Made(file.read()), step, type=type)
    elif isinstance(value, str):
        run.log_text(name, value, step, type=type)
    elif hasattr(value, "savefig") or hasattr(value, "to_plotly_json"):
        run.log_figure(name, value, step, type=type)
    elif value is not None:
        warn_once(f"wandb {kind}", f"{name!r} of W&B is a {kind}, which is not mirrored")


class _Made:
    """A Plotly figure as W&B stores it."""

    def __init__(self, text: str) -> None:
        self._text = text

    def to_plotly_json(self) -> Any:
        return json.loads(self._text)

    def to_json(self) -> str:
        return self._text


def _kind(value: Any) -> str:
    made = type(value)
    return made.__name__ if made.__module__.startswith("wandb.") else made.__qualname__ if value is not None else ""


def _picture(image: Any) -> Any:
    """Return W&B's image as a PIL image, or the path of its file."""
    return getattr(image, "image", None) or getattr(image, "_image", None) or image._path
