"""MLflow's file store: `mlruns/<experiment id>/<run id>/{meta.yaml,metrics,params,tags,artifacts}`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Optional
from urllib.parse import unquote, urlsplit

import yaml

from danlu.client.tracking.mlflow.records import MAX_TEXT_BYTES, MlflowRun, Point, Source

_STATUSES = {1: "RUNNING", 2: "SCHEDULED", 3: "FINISHED", 4: "FAILED", 5: "KILLED"}


class FolderSource(Source):
    def __init__(self, top: Path) -> None:
        self._top = top
        self._places: dict[str, Path] = {}
        self._problems: list[str] = []

    def runs(self, experiment: Optional[str]) -> Iterator[MlflowRun]:
        for meta in sorted(self._top.glob("*/meta.yaml")):
            described = self._meta(meta)
            name = str(described.get("name", meta.parent.name))
            if described.get("lifecycle_stage") != "active" or experiment not in (None, name):
                continue
            for of_run in sorted(meta.parent.glob("*/meta.yaml")):
                found = self._meta(of_run)
                if found.get("lifecycle_stage") == "active" and "run_id" in found:
                    self._places[str(found["run_id"])] = of_run.parent
                    yield self._run(found, name, of_run.parent)

    def points(self, run: MlflowRun) -> Iterator[Point]:
        top = self._places[run.id] / "metrics"
        for file in _files_below(top):
            key = file.relative_to(top).as_posix()
            with file.open(encoding="utf-8", errors="replace") as lines:
                for number, line in enumerate(lines, 1):
                    words = line.split()
                    try:
                        yield Point(key, float(words[1]), int(words[0]), int(words[2]) if len(words) > 2 else 0)
                    except (ValueError, IndexError):
                        self._problems.append(f"{run.id}: line {number} of metric {key} is not whole: {line[:60]!r}")

    def files(self, run: MlflowRun, _into: Path, /) -> Iterator[tuple[str, Path]]:
        return files_in(self._places[run.id] / "artifacts")

    def problems(self) -> list[str]:
        return self._problems

    def _run(self, found: dict[str, Any], experiment: str, folder: Path) -> MlflowRun:
        tags = self._texts(folder / "tags")
        status = found.get("status")
        return MlflowRun(
            id=str(found["run_id"]),
            experiment=experiment,
            name=str(found.get("run_name") or tags.get("mlflow.runName", "")),
            status=_STATUSES.get(status, "FINISHED") if isinstance(status, int) else str(status),
            started_at=_moment(found.get("start_time")),
            ended_at=_moment(found.get("end_time")),
            params=self._texts(folder / "params"),
            tags=tags,
        )

    def _texts(self, top: Path) -> dict[str, str]:
        found = {}
        for file in _files_below(top):
            key = file.relative_to(top).as_posix()
            if file.stat().st_size > MAX_TEXT_BYTES:
                self._problems.append(f"{file}: more than {MAX_TEXT_BYTES} bytes")
                continue
            found[key] = file.read_text(encoding="utf-8", errors="replace").rstrip("\n")
        return found

    def _meta(self, file: Path) -> dict[str, Any]:
        try:
            found = yaml.safe_load(file.read_text(encoding="utf-8"))
        except (OSError, ValueError, yaml.YAMLError) as error:
            self._problems.append(f"{file}: {str(error).splitlines()[0]}")
            return {}
        return found if isinstance(found, dict) else {}


def local_path(uri: str) -> Optional[Path]:
    """The folder of a `file:` address or a plain path; None for what is elsewhere."""
    parts = urlsplit(uri)
    if parts.scheme == "file":
        return Path(unquote(parts.path))
    return Path(uri) if not parts.scheme else None


def files_in(top: Path) -> Iterator[tuple[str, Path]]:
    """Name and place of every plain file below a folder."""
    for file in _files_below(top):
        yield file.relative_to(top).as_posix(), file


def _files_below(top: Path) -> Iterator[Path]:
    """Plain files; links are not followed, for they may lead anywhere."""
    for parent, folders, names in os.walk(top):
        folders.sort()
        for name in sorted(names):
            file = Path(parent, name)
            if file.is_file() and not file.is_symlink():
                yield file


def _moment(value: object) -> Optional[int]:
    return value if isinstance(value, int) and value > 0 else None
