"""What `client.runs.list` returns: runs that can be counted, indexed and made a table of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from typing import Any, Optional, Union, overload

from pydantic import PrivateAttr

from danlu.client.http import Http, Query
from danlu.errors import InvalidInput, MissingExtra, NotFound
from danlu.wire.runs import MetricOut, PointsOut, RunSummary, SeriesPoints

PLAIN = (
    *("name", "state", "folder", "project", "owner", "job", "step", "num_points"),
    *("created_at", "started_at", "ended_at"),
)
"""Fields of a run that it can be sorted by, beside its metrics, hyperparameters and summary."""

_SHORT = {"created": "created_at", "started": "started_at", "ended": "ended_at"}
"""As filters have them."""


class ListedRun(RunSummary):
    """A run of a list."""

    _http: Http = PrivateAttr()

    def points(
        self, series: str, *, max_points: int = 20_000, axis: str = "step", hidden: bool = False
    ) -> SeriesPoints:
        """The points of one series, such as "val/acc". With `hidden` also what a newer attempt superseded."""
        return points_of(self._http, self.id, series=series, max_points=max_points, axis=axis, hidden=hidden)

    def value(self, key: str) -> Any:
        """What a run is sorted by: `val/acc` or `metrics.val.acc` (the last value), `hparams.lr`, `name`. None: it has
        none. Raise InvalidInput for what is no key."""
        return value_of(self, key)


class RunList(Sequence[ListedRun]):
    """Runs, page after page as they are read; counting and indexing reads as far as that needs."""

    def __init__(self, runs: Iterable[ListedRun]) -> None:
        self._read: list[ListedRun] = []
        self._rest = iter(runs)

    def __len__(self) -> int:
        self._read.extend(self._rest)
        return len(self._read)

    def __iter__(self) -> Iterator[ListedRun]:
        at = 0
        while self._reaches(at):
            yield self._read[at]
            at += 1

    @overload
    def __getitem__(self, index: int) -> ListedRun: ...

    @overload
    def __getitem__(self, index: slice) -> RunList: ...

    def __getitem__(self, index: Union[int, slice]) -> Union[ListedRun, RunList]:
        if isinstance(index, slice):
            return RunList(list(self)[index])
        if index < 0 or not self._reaches(index):
            return list(self)[index]
        return self._read[index]

    def __repr__(self) -> str:
        names = ", ".join(run.name for run in list(self)[:5])
        return f"<{len(self)} runs: {names}{', ...' if len(self) > 5 else ''}>"

    def best(self, series: str, *, lowest: bool = False) -> ListedRun:
        """The run whose series (such as "val/acc") had the highest value, or the lowest. Raise NotFound for none."""
        among = [(run, one) for run in self if (one := _metric(run, series)) is not None]
        reached = [(run, one.low if lowest else one.high) for run, one in among]
        finite = [(run, value) for run, value in reached if value is not None]
        if not finite:
            known = sorted({f"{one.type}/{one.name}" for run in self for one in run.metrics})
            raise NotFound(
                f"none of {len(self)} runs has the series {series!r}; they have: {', '.join(known) or 'none'}"
            )
        return (min if lowest else max)(finite, key=lambda pair: pair[1])[0]

    def to_pandas(self) -> Any:
        """A DataFrame with a row per run: its fields, `hparams.*`, `metrics.*` (the last values) and `summary.*`.

        Needs pandas.
        """
        try:
            pandas = import_module("pandas")
        except ModuleNotFoundError as error:
            raise MissingExtra("to_pandas() needs the package 'pandas': pip install pandas") from error
        return pandas.DataFrame([row_of(run) for run in self])

    def _reaches(self, index: int) -> bool:
        """Read up to an index; say whether there is such a run."""
        while len(self._read) <= index:
            found = next(self._rest, None)
            if found is None:
                return False
            self._read.append(found)
        return True


def row_of(run: RunSummary) -> dict[str, Any]:
    """A run as one flat row."""
    row: dict[str, Any] = {"id": run.id, **{name: getattr(run, name) for name in PLAIN}}
    row["state"] = str(run.state)
    row.update({f"hparams.{name}": value for name, value in run.hparams.items()})
    row.update({f"metrics.{one.type}.{one.name}": last_of(one) for one in run.metrics})
    row.update({f"summary.{name}": value for name, value in run.summary.items()})
    return row


def value_of(run: RunSummary, key: str) -> Any:
    """See `ListedRun.value`."""
    name = _SHORT.get(key, key)
    if name in PLAIN:
        return getattr(run, name)
    kind, _, rest = key.partition(".")
    if rest and kind in ("hparams", "summary"):
        return (run.hparams if kind == "hparams" else run.summary).get(rest)
    if "/" in key or (rest and kind == "metrics"):
        found = _metric(run, key)
        return None if found is None else last_of(found)
    raise InvalidInput(
        f"sort: expected TYPE/NAME of a metric, hparams.NAME, summary.NAME or one of {', '.join(PLAIN)}, got {key!r}"
    )


def last_of(metric: MetricOut) -> Optional[float]:
    """The last value of a metric, also where JSON has no number for it."""
    return metric.last if metric.odd is None else float(metric.odd)


def points_of(http: Http, run_id: str, *, series: str, max_points: int, axis: str, hidden: bool) -> SeriesPoints:
    """The points of one series; one without points when there is none of that name."""
    query: Query = {"run": run_id, "series": series, "max_points": max_points, "axis": axis, "hidden": hidden}
    found = http.get("/runs/points", PointsOut, query=query).items
    if found:
        return found[0]
    type_, _, name = series.partition("/")
    return SeriesPoints(
        run=run_id, type=type_, name=name, num_points=0, step=[], epoch=[], time=[], value=[], hidden=[]
    )


def _metric(run: RunSummary, key: str) -> Optional[MetricOut]:
    type_, _, name = key[len("metrics.") :].partition(".") if key.startswith("metrics.") else key.partition("/")
    return next((one for one in run.metrics if (one.type, one.name) == (type_, name)), None)
