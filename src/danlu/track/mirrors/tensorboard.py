"""`track.mirror_tensorboard()`: also log to a run what a script passes to SummaryWriter."""

from __future__ import annotations

import os
import weakref
from collections.abc import Mapping
from types import ModuleType
from typing import Any, Callable, Optional

from danlu.journal.words import TYPES
from danlu.track.listen.patching import Call, Patches
from danlu.track.listen.target import Target
from danlu.track.run import Run
from danlu.track.tensorboard import split_tag
from danlu.track.values import type_word

MODULES = ("torch.utils.tensorboard.writer", "tensorboardX.writer")


def mirror_tensorboard(run: Optional[Run] = None) -> Patches:
    """Also log to a run what SummaryWriters of `torch.utils.tensorboard` and `tensorboardX` write.

    May be called before or after they are imported. Logs to `run`, by default the newest run of the script; without
    one, a run is started for each writer's folder, and named after it. It ends when the last writer of the folder is
    closed, and goes on if one logs again; the newest of those that go on has the output. `undo()` of the result ends
    them. Event files are written as before.
    """
    patches, target = Patches(), Target(run)
    mirror = _Mirror(target)

    def install(module: ModuleType) -> None:
        for name, listener in mirror.listeners.items():
            patches.wrap(module.SummaryWriter, name, group="tensorboard", after=listener)
        # also when it could not flush its file; `__exit__` calls it, too
        patches.wrap(module.SummaryWriter, "close", group="tensorboard", after=mirror.closed, failed=mirror.closed)

    for name in MODULES:
        patches.when_there(name, install)
    patches.on_undo(target.finish)
    return patches


class _Mirror:
    def __init__(self, target: Target) -> None:
        self._target = target
        self._writers: dict[str, dict[int, weakref.ref[Any]]] = {}
        """Open writers by id(), by the folder of their run. They are not kept alive."""

        self.listeners: dict[str, Callable[[Call], None]] = {
            "__init__": self._opened,
            "add_scalar": self._scalar,
            "add_scalars": self._scalars,
            "add_histogram": self._histogram,
            "add_image": self._image,
            "add_images": self._images,
            "add_figure": self._figure,
            "add_video": self._video,
            "add_audio": self._audio,
            "add_text": self._text,
            "add_hparams": self._hparams,
            "add_pr_curve": self._pr_curve,
        }

    def closed(self, call: Call) -> None:
        folder = _run_folder(call.owner)
        self._writers.get(folder, {}).pop(id(call.owner), None)
        self._end_unused([folder])

    def _opened(self, call: Call) -> None:
        self._end_unused(list(self._writers))  # of writers that were deleted without `close`
        self._use(call.owner)

    def _use(self, writer: Any) -> str:
        """Note that a writer is open, and return the folder of its run."""
        folder = _run_folder(writer)
        self._writers.setdefault(folder, {})[id(writer)] = weakref.ref(writer)
        return folder

    def _end_unused(self, folders: list[str]) -> None:
        for folder in folders:
            if not any(one() is not None for one in list(self._writers.get(folder, {}).values())):
                self._writers.pop(folder, None)
                self._target.end(folder)

    def _scalar(self, call: Call) -> None:
        run, type, name = self._place(call)
        run.log(type, {name: call.argument("scalar_value", 2)}, call.argument("global_step", 3))

    def _scalars(self, call: Call) -> None:
        run, type, name = self._place(call, tag="main_tag")
        values: Mapping[str, Any] = call.argument("tag_scalar_dict", 2)
        run.log(type, {f"{name}/{key}": value for key, value in values.items()}, call.argument("global_step", 3))

    def _histogram(self, call: Call) -> None:
        run, type, name = self._place(call)
        run.log_histogram(name, call.argument("values", 2), call.argument("global_step", 3), type=type)

    def _image(self, call: Call) -> None:
        run, type, name = self._place(call)
        image = _channels_last(call.argument("img_tensor", 2), call.argument("dataformats", 5, otherwise="CHW"), "HWC")
        run.log_image(name, image, call.argument("global_step", 3), type=type)

    def _images(self, call: Call) -> None:
        run, type, name = self._place(call)
        images = _channels_last(
            call.argument("img_tensor", 2), call.argument("dataformats", 5, otherwise="NCHW"), "NHWC"
        )
        run.log_images(name, images, call.argument("global_step", 3), type=type)

    def _figure(self, call: Call) -> None:
        run, type, name = self._place(call)
        figures = call.argument("figure", 2)
        for figure in figures if isinstance(figures, list) else [figures]:
            run.log_figure(name, figure, call.argument("global_step", 3), type=type)

    def _video(self, call: Call) -> None:
        run, type, name = self._place(call)
        run.log_video(
            name,
            _channels_last(call.argument("vid_tensor", 2), "NTCHW", "NTHWC")[0],
            call.argument("global_step", 3),
            fps=call.argument("fps", 4, otherwise=4),
            type=type,
        )

    def _audio(self, call: Call) -> None:
        run, type, name = self._place(call)
        rate = call.argument("sample_rate", 4, otherwise=44_100)
        sound, step = call.argument("snd_tensor", 2), call.argument("global_step", 3)
        run.log_audio(name, sound, step, sample_rate=rate, type=type)

    def _text(self, call: Call) -> None:
        run, type, name = self._place(call)
        run.log_text(name, call.argument("text_string", 2), call.argument("global_step", 3), type=type)

    def _hparams(self, call: Call) -> None:
        run = self._run(call)
        run.hparams.update(dict(call.argument("hparam_dict", 1) or {}))
        run.summary.update(dict(call.argument("metric_dict", 2) or {}))

    def _pr_curve(self, call: Call) -> None:
        run, type, name = self._place(call)
        truth, scores = call.argument("labels", 2), call.argument("predictions", 3)
        run.log_pr_curve(name, truth, scores, call.argument("global_step", 4), type=type)

    def _place(self, call: Call, tag: str = "tag") -> tuple[Run, str, str]:
        """Return run, type and name of a call."""
        folder = os.path.basename(str(_folder(call.owner)).rstrip("/\\")).lower()
        otherwise = type_word(folder) if folder in TYPES else "train"
        return (self._run(call), *split_tag(str(call.argument(tag, 1)), otherwise))

    def _run(self, call: Call) -> Run:
        folder = self._use(call.owner)
        return self._target.run(os.path.basename(folder) or "tensorboard", key=folder)


def _folder(writer: Any) -> Any:
    return getattr(writer, "log_dir", None) or getattr(writer, "logdir", None) or ""


def _run_folder(writer: Any) -> str:
    folder = os.path.abspath(str(_folder(writer) or "tensorboard"))
    if os.path.basename(folder).lower() in TYPES:  # writers for `train` and `val` share one run
        folder = os.path.dirname(folder)
    return folder


def _channels_last(values: Any, given: str, wanted: str) -> Any:
    """Transpose an array to the wanted order of axes; missing axes are skipped."""
    for name in ("detach", "cpu", "numpy"):
        if hasattr(values, name):
            values = getattr(values, name)()
    order = [given.index(axis) for axis in wanted if axis in given]
    return values.transpose(order) if hasattr(values, "transpose") else values
