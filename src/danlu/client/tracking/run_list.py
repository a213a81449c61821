"""The result of `client.runs.list`: a lazy sequence of runs, which can be converted to a table."""

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
"""Fields by which runs can be sorted, in addition to metrics, hyperparameters and summary."""

_SHORT = {"created": "created_at", "started": "started_at", "ended": "ended_at"}
"""Short names, as in filters."""


class ListedRun(RunSummary):
    """A run in a list."""

    _http: Http = PrivateAttr()

    def points(
        self, series: str, *, max_points: int = 20_000, axis: str = "step", hidden: bool = False
    ) -> SeriesPoints:
        """Return the points of one series, such as "val/acc". `hidden` includes points that a newer attempt
        superseded."""
        return points_of(self._http, self.id, series=series, max_points=max_points, axis=axis, hidden=hidden)

    def value(self, key: str) -> Any:
        """Return the value by which runs are sorted: `val/acc` or `metrics.val.acc` (the last value), `hparams.lr`,
        `name`. None when the run has none. Raise InvalidInput for an invalid key."""
        return value_of(self, key)


class RunList(Sequence[ListedRun]):
    """A sequence of runs that fetches pages as needed. `len()` fetches all of them."""

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
        """Return the run with the highest (or lowest) value of a series such as "val/acc". Raise NotFound without
        any."""
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
        """Return a DataFrame with a row per run: its fields, `hparams.*`, `metrics.*` (last values) and `summary.*`.

        Requires pandas.
        """
        try:
            pandas = import_module("pandas")
        except ModuleNotFoundError as error:
            raise MissingExtra("to_pandas() needs the package 'pandas': pip install pandas") from error
        return pandas.DataFrame([row_of(run) for run in self])

    def _reaches(self, index: int) -> bool:
        """Fetch up to an index; return whether that run exists."""
        while len(self._read) <= index:
            found = next(self._rest, None)
            if found is None:
                return False
            self._read.append(found)
        return True


def row_of(run: RunSummary) -> dict[str, Any]:
    """Return a run as one flat row."""
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
    """The last value of a metric, including NaN and infinity, which JSON cannot represent."""
    return metric.last if metric.odd is None else float(metric.odd)


def points_of(http: Http, run_id: str, *, series: str, max_points: int, axis: str, hidden: bool) -> SeriesPoints:
    """Return the points of one series; empty when the series does not exist."""
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
