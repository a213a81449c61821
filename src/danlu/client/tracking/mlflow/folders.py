"""MLflow's file store: `mlruns/<experiment id>/<run id>/{meta.yaml,metrics,params,tags,artifacts}`."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Optional
from urllib.parse import unquote, urlsplit

from danlu.client.tracking.mlflow.records import DATASET, MAX_TEXT_BYTES, MlflowRun, Point, Source
from danlu.client.tracking.plain_yaml import load_plain
from danlu.importing.files import tree, unreadable, walk
from danlu.importing.records import UNREADABLE, Problems

MAX_LINE_CHARS = 1000
_NO_EXPERIMENTS = (".trash", "models")
_STATUSES = {1: "RUNNING", 2: "SCHEDULED", 3: "FINISHED", 4: "FAILED", 5: "KILLED"}


class FolderSource(Source):
    def __init__(self, top: Path, *, follow_links: bool = False) -> None:
        self._top, self._follow_links = top, follow_links
        self._places: dict[str, Path] = {}
        self._problems = Problems()

    def runs(self, experiment: Optional[str]) -> Iterator[MlflowRun]:
        for folder in sorted({of_run.parent.parent for of_run in self._top.glob("*/*/meta.yaml")}):
            if folder.name not in _NO_EXPERIMENTS and not os.path.lexists(folder / "meta.yaml"):
                self._problems.add(f"{folder}: an experiment has a meta.yaml")
        for meta in self._metas_below(self._top):
            if meta.parent.is_symlink() and not self._follow_links:
                self._problems.add(f"{meta.parent}: it is a link; --links follows it")
                continue
            described = self._meta(meta)
            name = str(described.get("name", meta.parent.name))
            if described.get("lifecycle_stage") != "active" or experiment not in (None, name):
                continue
            around = self._texts(meta.parent / "tags")
            for of_run in self._metas_below(meta.parent):
                try:
                    run = self._run(of_run, name)
                except UNREADABLE as error:
                    self._problems.add(unreadable(of_run, error))
                    continue
                if run is not None:
                    yield run._replace(experiment_tags=around)

    def points(self, run: MlflowRun) -> Iterator[Point]:
        top = self._places[run.id] / "metrics"
        for file in self._files_below(top):
            key = file.relative_to(top).as_posix()
            try:
                yield from self._points_in(file, run, key)
            except OSError as error:
                self._problems.add(unreadable(file, error))

    def files(self, run: MlflowRun, _into: Path, /) -> Iterator[tuple[str, Path]]:
        return files_in(self._places[run.id] / "artifacts", self._problems, follow_links=self._follow_links)

    def problems(self) -> list[str]:
        return self._problems.all()

    def _metas_below(self, top: Path) -> list[Path]:
        """Return the `meta.yaml` of each folder in a folder."""
        found = []
        try:
            folders = sorted(os.listdir(top))
        except OSError as error:
            self._problems.add(unreadable(top, error))
            return []
        for folder in folders:
            meta = top / folder / "meta.yaml"
            try:
                meta.lstat()
                found.append(meta)
            except (FileNotFoundError, NotADirectoryError):
                pass  # `params`, or no folder
            except OSError as error:
                self._problems.add(unreadable(meta, error))
        return found

    def _run(self, meta: Path, experiment: str) -> Optional[MlflowRun]:
        """Return a run; None when it was deleted or its file is no description of a run, which is reported."""
        folder = meta.parent
        if folder.is_symlink() and not self._follow_links:
            self._problems.add(f"{folder}: it is a link; --links follows it")
            return None
        found = self._meta(meta)
        if found and "run_id" not in found:
            self._problems.add(f"{meta}: it has no run_id")
        if "run_id" not in found or found.get("lifecycle_stage") != "active":
            return None
        tags = self._texts(folder / "tags")
        status = found.get("status")
        run = MlflowRun(
            id=str(found["run_id"]),
            experiment=experiment,
            name=str(found.get("run_name") or tags.get("mlflow.runName", "")),
            status=_STATUSES.get(status, "FINISHED") if isinstance(status, int) else str(status),
            started_at=_moment(found.get("start_time")),
            ended_at=_moment(found.get("end_time")),
            params=self._texts(folder / "params"),
            tags=tags,
            user=str(found.get("user_id") or ""),
            inputs=tuple(self._inputs(folder)),
        )
        self._places[run.id] = folder
        return run

    def _inputs(self, folder: Path) -> Iterator[dict[str, Any]]:
        """Yield the data sets of a run. They are stored next to the runs, and each run refers to its inputs."""
        for meta in sorted((folder / "inputs").glob("*/meta.yaml")):
            said = self._meta(meta)
            known = re.fullmatch(r"[\w-]{1,100}", str(said.get("source_id")))
            described = self._meta(folder.parent / "datasets" / known[0] / "meta.yaml") if known else {}
            if described:
                given = said.get("tags")
                tags: dict[Any, Any] = given if isinstance(given, dict) else {}
                about = {name: str(described[name]) for name in DATASET if described.get(name) is not None}
                yield {"dataset": about, "tags": [{"key": str(key), "value": str(tags[key])} for key in tags]}

    def _texts(self, top: Path) -> dict[str, str]:
        found = {}
        for file in self._files_below(top):
            try:
                if file.stat().st_size > MAX_TEXT_BYTES:
                    raise ValueError(f"more than {MAX_TEXT_BYTES} bytes")
                with file.open(encoding="utf-8", errors="replace") as opened:
                    found[file.relative_to(top).as_posix()] = opened.read().rstrip("\n")
            except (OSError, ValueError) as error:
                self._problems.add(unreadable(file, error))
        return found

    def _points_in(self, file: Path, run: MlflowRun, key: str) -> Iterator[Point]:
        with file.open(encoding="utf-8", errors="replace") as opened:
            for number, line in enumerate(iter(lambda: opened.readline(MAX_LINE_CHARS), ""), 1):
                words = line.split()
                try:
                    yield Point(key, float(words[1]), int(words[0]), int(words[2]) if len(words) > 2 else 0)
                except (ValueError, IndexError):
                    self._problems.add(f"{run.id}: line {number} of metric {key} is not whole: {line[:60]!r}")

    def _files_below(self, top: Path) -> Iterator[Path]:
        """Yield plain files. Symlinks, which may lead anywhere, and others such as pipes are reported."""
        if top.is_symlink():
            self._problems.add(f"{top}: it is a link, which is not followed")
            return
        for parent, folders, names in walk(top, self._problems):
            folders.sort()
            for name in sorted(names):
                file = Path(parent, name)
                try:
                    is_plain = stat.S_ISREG(file.lstat().st_mode)
                except OSError as error:
                    self._problems.add(unreadable(file, error))
                    continue
                if is_plain:
                    yield file
                else:
                    self._problems.add(f"{file}: it is no regular file")

    def _meta(self, file: Path) -> dict[str, Any]:
        try:
            if not file.is_file() or file.is_symlink():
                raise ValueError("it is no regular file")
            if file.stat().st_size > MAX_TEXT_BYTES:
                raise ValueError(f"more than {MAX_TEXT_BYTES} bytes")
            found = load_plain(file.read_bytes())
        except (OSError, ValueError) as error:
            self._problems.add(unreadable(file, error))
            return {}
        if not isinstance(found, dict) or not found:
            self._problems.add(f"{file}: it is no mapping")
            return {}
        return found


def local_path(uri: str) -> Optional[Path]:
    """Return the path in a `file:` URL or plain path; None for other URLs."""
    parts = urlsplit(uri)
    if parts.scheme == "file":
        return Path(unquote(parts.path))
    return Path(uri) if not parts.scheme else None


def files_in(top: Path, problems: Problems, *, follow_links: bool) -> Iterator[tuple[str, Path]]:
    """Yield name and path of every plain file in a folder. Symlinks that lead out of the folder are reported instead,
    unless `follow_links`."""
    if top.is_symlink() and not follow_links:
        problems.add(f"{top}: it is a link; --links follows it")
    elif top.is_dir():
        yield from tree(top, problems, follow_links=follow_links).items()


def _moment(value: object) -> Optional[int]:
    return value if isinstance(value, int) and value > 0 else None
