"""`client.runs`: list, search, read, move and delete runs. Writing them is `danlu.track`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Callable, List, Optional, Union  # noqa: UP035

from danlu.client.http import Http, Query
from danlu.client.jobs.jobs import path_part
from danlu.client.pages import pages
from danlu.client.tracking.importing import ImportedRuns, bring
from danlu.client.tracking.mlflow import Imported, import_mlflow
from danlu.client.tracking.mlflow.records import MlflowRun
from danlu.client.tracking.plain_yaml import load_plain
from danlu.client.tracking.run_list import ListedRun, RunList, points_of
from danlu.errors import InvalidInput
from danlu.importing.records import ForeignRun
from danlu.importing.swanlab import SwanlabFolders
from danlu.importing.tensorboard import EventFolders
from danlu.importing.trackio import TrackioProjects
from danlu.importing.wandb.folders import WandbFolders, find_logs
from danlu.importing.wandb.tables import WandbTables
from danlu.spec.run_filter import parse_sort
from danlu.wire.runs import (
    ChangeRun,
    EnvironmentOut,
    FolderOut,
    MakeFolder,
    MediaOut,
    MetricOut,
    MoveFolder,
    PointsOut,
    PushMany,
    PushMetrics,
    RunOut,
    SeriesPoints,
)

EXPORT_SECONDS = 600.0
SERIES_AT_ONCE = 100


class Run:
    """A run, as of the time of the request."""

    def __init__(self, http: Http, details: RunOut) -> None:
        self._http = http
        self.details = details

    @property
    def id(self) -> str:
        return self.details.id

    @property
    def name(self) -> str:
        return self.details.name

    def refresh(self) -> Run:
        self.details = self._http.get(f"/runs/{self.id}", RunOut)
        return self

    def series(self) -> list[MetricOut]:
        """All series with summaries, including the machine's resource usage."""
        return list(pages(self._http, f"/runs/{self.id}/series", MetricOut))

    def points(
        self, series: str, *, max_points: int = 20_000, axis: str = "step", hidden: bool = False
    ) -> SeriesPoints:
        """Return the points of one series, such as "val/acc". `hidden` includes points that a newer attempt
        superseded."""
        return points_of(self._http, self.id, series=series, max_points=max_points, axis=axis, hidden=hidden)

    def all_points(self, series: Sequence[str], max_points: int = 1000) -> list[SeriesPoints]:
        """Return the points of any number of series, with many per request."""
        found: list[SeriesPoints] = []
        for at in range(0, len(series), SERIES_AT_ONCE):
            wanted = list(series[at : at + SERIES_AT_ONCE])
            query: Query = {"run": self.id, "series": wanted, "max_points": max_points}
            found += self._http.get("/runs/points", PointsOut, query=query).items
        return found

    def environment(self) -> EnvironmentOut:
        """The captured environment: packages, git commit and diff, command, machine."""
        return self._http.get(f"/runs/{self.id}/environment", EnvironmentOut)

    def media(self) -> Iterator[MediaOut]:
        """Images, texts and histograms."""
        return pages(self._http, f"/runs/{self.id}/media", MediaOut)

    def read_media(self, media: Union[MediaOut, str]) -> bytes:
        name = media if isinstance(media, str) else media.id
        return self._http.send("GET", f"/runs/{self.id}/media/{path_part(name)}").content

    def output(self) -> Iterator[bytes]:
        """Yield what its processes printed, journal by journal."""
        for journal in self.details.journals:
            offset = 0
            while offset < journal.output_bytes:
                path = f"/runs/{self.id}/output/{journal.name}"
                piece = self._http.send("GET", path, query={"offset": offset}).content
                if not piece:
                    break
                offset += len(piece)
                yield piece

    def export(self, path: Union[str, Path], file_format: Optional[str] = None) -> Path:
        """Write every point to a file: CSV, or Parquet if the name ends in `.parquet`. The file appears when it is
        complete."""
        target = Path(path)
        if target.is_dir():
            raise InvalidInput(f"{target} is a folder; name a file in it, such as {target / 'run.csv'}")
        chosen = file_format or ("parquet" if target.suffix == ".parquet" else "csv")
        partial = target.with_name(f".partial.{target.name}")
        query: Query = {"format": chosen}
        try:
            with (
                partial.open("wb") as file,
                self._http.stream("GET", f"/runs/{self.id}/export", query=query, read_seconds=EXPORT_SECONDS) as answer,
            ):
                for piece in answer.iter_bytes():
                    file.write(piece)
            os.replace(partial, target)
        finally:
            if partial.exists():
                partial.unlink()
        return target

    def change(
        self,
        *,
        name: Optional[str] = None,
        folder: Optional[str] = None,
        labels: Optional[Sequence[str]] = None,
        description: Optional[str] = None,
    ) -> Run:
        """Change name, folder, labels or description; omitted ones stay."""
        body = ChangeRun(
            name=name, folder=folder, labels=None if labels is None else list(labels), description=description
        )
        answer = self._http.send("PATCH", f"/runs/{self.id}", body=body)
        self.details = RunOut.model_validate_json(answer.content)
        return self

    def delete(self, *, purge: bool = False) -> None:
        """Move it to the trash; with `purge`, delete it permanently."""
        self._http.send("DELETE", f"/runs/{self.id}", query={"purge": purge})

    def restore(self) -> Run:
        self.details = self._http.post(f"/runs/{self.id}/restore", RunOut, is_repeatable=True)
        return self


class Runs:
    def __init__(self, http: Http) -> None:
        self._http = http

    def import_mlflow(
        self,
        source: Union[str, Path],
        *,
        experiment: Optional[str] = None,
        project: Optional[str] = None,
        follow_links: bool = False,
        on_run: Callable[[MlflowRun], None] = lambda _run: None,
    ) -> Imported:
        """Import the runs of a folder `mlruns`, an MLflow SQLite file or an MLflow server, with metrics, parameters,
        tags, times and files. Runs that were imported before are skipped. `follow_links` also imports files outside the
        folder that symlinks or the database refer to."""
        return import_mlflow(
            self._http,
            str(source),
            experiment=experiment,
            project=project,
            follow_links=follow_links,
            on_run=on_run,
        )

    def import_wandb(
        self,
        path: Union[str, Path],
        *,
        follow_links: bool = False,
        project: Optional[str] = None,
        on_run: Callable[[ForeignRun], None] = lambda _run: None,
    ) -> ImportedRuns:
        """Import runs of W&B: a folder `wandb`, a `.wandb` file, or exported CSV files. Runs that were imported before
        are skipped. `follow_links` also imports targets of symlinks in a run's files."""
        place = Path(path)
        if place.suffix.lower() == ".csv" or (place.is_dir() and not find_logs(place) and any(place.glob("*.csv"))):
            return bring(self._http, WandbTables(place), project=project, on_run=on_run)
        return bring(self._http, WandbFolders(place, follow_links=follow_links), project=project, on_run=on_run)

    def import_tensorboard(
        self,
        path: Union[str, Path],
        *,
        name: Optional[str] = None,
        project: Optional[str] = None,
        on_run: Callable[[ForeignRun], None] = lambda _run: None,
    ) -> ImportedRuns:
        """Import a TensorBoard event file, or all in a folder: every folder with event files becomes a run."""
        return bring(self._http, EventFolders(Path(path), name), project=project, on_run=on_run)

    def import_trackio(
        self,
        path: Union[str, Path],
        *,
        project: Optional[str] = None,
        on_run: Callable[[ForeignRun], None] = lambda _run: None,
    ) -> ImportedRuns:
        """Import the runs of a trackio project's SQLite file, or of all such files in a folder."""
        return bring(self._http, TrackioProjects(Path(path)), project=project, on_run=on_run)

    def import_swanlab(
        self,
        path: Union[str, Path],
        *,
        project: Optional[str] = None,
        on_run: Callable[[ForeignRun], None] = lambda _run: None,
    ) -> ImportedRuns:
        """Import the runs of a folder `swanlog`, of a run's folder in it, or of its `.swanlab` file."""
        return bring(self._http, SwanlabFolders(Path(path), load_plain), project=project, on_run=on_run)

    def get(self, run: str) -> Run:
        """Return the run with this id, or the newest one with this name. Raises NotFound."""
        return Run(self._http, self._http.get(f"/runs/{path_part(run)}", RunOut))

    def list(
        self,
        filter: Optional[str] = None,
        *,
        folder: Optional[str] = None,
        job: Optional[str] = None,
        deleted: bool = False,
        sort: Optional[str] = None,
        limit: Optional[int] = None,
    ) -> RunList:
        """Runs, newest first. Pages are fetched as needed; `len()` fetches all of them.

            runs = client.runs.list("metrics.val.acc > 0.9 and hparams.lr < 0.01", folder="vision")
            runs[0].points("val/acc"), runs.best("val/acc"), runs.to_pandas()

        `sort` is a metric such as `val/acc`, `hparams.lr`, `name` or `created`, with `-` for descending order; runs
        without the value come last.
        """
        query: Query = {
            "filter": filter,
            "folder": folder,
            "job": job,
            "deleted": deleted,
            "sort": sort,
            "limit": min(limit, 1000) if limit is not None else None,
        }
        if sort is not None:
            parse_sort(sort)  # report an invalid key here, not when the first run is read
        return RunList(islice(self._listed(query), limit))

    def _listed(self, query: Query) -> Iterator[ListedRun]:
        for run in pages(self._http, "/runs", ListedRun, query=query):
            run._http = self._http
            yield run

    def points(
        self,
        runs: Iterable[str],
        series: Iterable[str] = (),
        *,
        axis: str = "step",
        max_points: int = 1000,
        hidden: bool = False,
    ) -> List[SeriesPoints]:  # noqa: UP006  `list` is the method here
        """Return many series of many runs in one request, each with at most `max_points` points, including its
        extremes."""
        query: Query = {
            "run": list(runs),
            "series": list(series),
            "axis": axis,
            "max_points": max_points,
            "hidden": hidden,
        }
        return self._http.get("/runs/points", PointsOut, query=query).items

    def push(
        self,
        job: str,
        values: Mapping[str, float],
        *,
        step: Optional[int] = None,
        total_steps: Optional[int] = None,
        epoch: Optional[float] = None,
        timestamp: Optional[float] = None,
    ) -> RunOut:
        """Push metrics to a job; they are recorded in the run that the job has for them."""
        one = PushMetrics(values=dict(values), step=step, total_steps=total_steps, epoch=epoch, timestamp=timestamp)
        return self.push_many(job, [one])

    def push_many(self, job: str, metrics: Sequence[PushMetrics]) -> RunOut:
        """Push metrics of several steps in one request."""
        return self._http.post(f"/jobs/{path_part(job)}/metrics", RunOut, body=PushMany(metrics=[*metrics]))

    def folders(self) -> List[FolderOut]:  # noqa: UP006
        return [*pages(self._http, "/folders", FolderOut)]

    def make_folder(self, path: str, *, project: Optional[str] = None) -> FolderOut:
        return self._http.post("/folders", FolderOut, body=MakeFolder(path=path, project=project), is_repeatable=True)

    def move_folder(self, path: str, to: str, *, project: Optional[str] = None) -> FolderOut:
        """Move or rename a folder with its content."""
        return self._http.post("/folders/move", FolderOut, body=MoveFolder(path=path, to=to, project=project))

    def delete_folder(self, path: str, *, project: Optional[str] = None) -> None:
        """Delete a folder; its runs are moved to the trash."""
        self._http.send("DELETE", "/folders", query={"path": path, "project": project})
