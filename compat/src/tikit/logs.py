"""Logs of training tasks."""

from __future__ import annotations

import re
import tempfile
import zipfile
from collections.abc import Sequence
from datetime import datetime, timezone
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Optional

from danlu.client import Job
from tikit import task_view
from tikit.log_reading import Line, Wanted, all_lines, from_context, read_page, to_context
from tikit.session import Session, refuse, request_id, translated
from tikit.tencentcloud.tione.v20211111 import models as wire

MAX_LINES = 100
_TASK = re.compile(r"train-[0-9]+")


class Pods(NamedTuple):
    """The pods of one attempt that match a name."""

    job: Job
    attempt: int
    names: dict[int, str]
    """Rank -> name."""

    def positions(self, *, is_backwards: bool) -> dict[int, int]:
        """Return where to start reading: at the end of the stored log, or at its beginning."""
        if not is_backwards:
            return dict.fromkeys(self.names, 0)
        attempt = next(one for one in self.job.details.attempts if one.number == self.attempt)
        return {task.rank: task.log_bytes for task in attempt.tasks if task.rank in self.names}


class Logs(Session):
    @translated
    def describe_train_logs(
        self,
        pod_name: str,
        start_time: Optional[str] = None,
        end_time: Optional[str] = None,
        limit: Optional[int] = None,
        order: Optional[str] = None,
        context: Optional[str] = None,
        filters: Optional[Sequence[Any]] = None,
    ) -> wire.DescribeLogsResponse:
        """Read a page of the log of a pod, or of several: `"<task id>*"`. The answer's `next()` reads the next page.

        Newest lines first unless `order` is ASC. Times are RFC 3339; by default the whole log of the newest attempt.
        Filters: `{"Name": "Key", "Values": [...]}`; a line must contain all words.
        """
        wanted = _wanted(start_time, end_time, order or "DESC", filters)
        pods = self._pods(pod_name)
        answer = wire.DescribeLogsResponse.new(Context="", Content=[], RequestId=request_id())
        if not pods.attempt:
            return answer
        attempt, positions = pods.attempt, pods.positions(is_backwards=wanted.is_backwards)
        if context:
            attempt, positions = from_context(context)
        page = read_page(pods.job, attempt, positions, wanted, _limit(limit))
        answer.Content = [_line(line, pods, attempt) for line in page.lines]
        answer.Context = "" if page.positions is None else to_context(attempt, page.positions)
        again = partial(self.describe_train_logs, pod_name, start_time, end_time, limit, order, filters=filters)
        answer._read_on = lambda place: again(context=place)
        return answer

    @translated
    def save_log(
        self,
        path: str,
        compress: Optional[bool] = None,
        service: Optional[str] = None,
        id: Optional[str] = None,
        pod_name: Optional[str] = None,
        start_time: Optional[str] = None,
        end_time: Optional[str] = None,
        order: Optional[str] = None,
    ) -> None:
        """Write the logs of a task (`id`) or of some of its pods to a folder below `path`, one file per pod.

        With `compress`, write a zip file. Oldest lines first unless `order` is DESC.
        """
        if service not in (None, "TRAIN"):
            raise refuse(f"service: expected TRAIN, got {service!r}", "UnsupportedOperation")
        if not id and not pod_name:
            raise refuse("id: expected the id of a task, or pod_name, got none")
        wanted = _wanted(start_time, end_time, order or "ASC", None)
        pods = self._pods(pod_name or f"{id}*")
        with tempfile.TemporaryDirectory() as place:
            files = [_write(Path(place), pods, rank, wanted) for rank in pods.names] if pods.attempt else []
            target = _free(Path(path), pods.job.id, suffix=".zip" if compress else "")
            if compress:
                target.parent.mkdir(parents=True, exist_ok=True)
                with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
                    for file in files:
                        archive.write(file, file.name)
            else:
                target.mkdir(parents=True)
                for file in files:
                    (target / file.name).write_bytes(file.read_bytes())
        print(f"logs are saved in {target}")

    def _pods(self, pod_name: str) -> Pods:
        found = _TASK.match(pod_name or "")
        if found is None:
            raise refuse(f"pod_name: expected '<task id>*' or the name of a pod, got {pod_name!r}")
        job = self._danlu.jobs.get(found.group())
        known = task_view.pod_names(job.details)
        is_all = pod_name in (job.id, f"{job.id}*")
        names = {rank: name for rank, name in known.items() if is_all or fnmatchcase(name, _pattern(pod_name))}
        if not names:
            raise refuse(f"pod_name: {pod_name!r} is none of {', '.join(known.values())}", "ResourceNotFound")
        return Pods(job, job.details.attempt, names)


def _pattern(pod_name: str) -> str:
    """Escape a name for matching; only a `*` at its end is a wildcard."""
    is_open = pod_name.endswith("*")
    escaped = re.sub(r"([\[\]*?])", r"[\1]", pod_name[:-1] if is_open else pod_name)
    return f"{escaped}*" if is_open else escaped


def _wanted(start: Optional[str], end: Optional[str], order: str, filters: Optional[Sequence[Any]]) -> Wanted:
    if order not in ("ASC", "DESC"):
        raise refuse(f"order: expected ASC or DESC, got {order!r}")
    words: list[str] = []
    for one in filters or ():
        name, values = (one.get("Name"), one.get("Values")) if isinstance(one, dict) else (one.Name, one.Values)
        if name != "Key":
            raise refuse(f"filters: expected the Name Key, got {name!r}", "InvalidParameterValue.InvalidFilter")
        words += [str(value) for value in values or ()]
    return Wanted(_seconds(start, "start_time"), _seconds(end, "end_time"), words, order == "DESC")


def _seconds(text: Optional[str], name: str) -> Optional[float]:
    if not text:
        return None
    try:
        found = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError as error:
        raise refuse(f"{name}: expected a time such as 2026-01-31T12:00:00Z, got {text!r}") from error
    return (found if found.tzinfo is not None else found.astimezone()).timestamp()


def _limit(limit: Optional[int]) -> int:
    if limit is not None and not 1 <= limit <= MAX_LINES:
        raise refuse(f"limit: expected 1 to {MAX_LINES}, got {limit}", "InvalidParameterValue.LimitExceeded")
    return limit or MAX_LINES


def _line(line: Line, pods: Pods, attempt: int) -> wire.LogIdentity:
    return wire.LogIdentity.new(
        Id=f"{attempt}-{line.rank}-{line.offset}",
        Message=line.text,
        PodName=pods.names.get(line.rank, ""),
        Timestamp=_timestamp(line.time),
    )


def _timestamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _write(folder: Path, pods: Pods, rank: int, wanted: Wanted) -> Path:
    """Write the log of one pod; the file name has the times of its first and last line."""
    partial_file = folder / f"{rank}.partial"
    position = {rank: pods.positions(is_backwards=wanted.is_backwards).get(rank, 0)}
    times: list[float] = []
    with partial_file.open("w", encoding="utf-8", newline="\n") as file:
        for line in all_lines(pods.job, pods.attempt, position, wanted):
            file.write(f"{line.text}\n")
            times = [min([*times[:1], line.time]), max([*times[1:], line.time])]
    first, last = (datetime.fromtimestamp(one, timezone.utc) for one in times or (0.0, 0.0))
    return partial_file.rename(folder / f"{pods.names[rank]}-{first:%Y%m%d%H%M%S}-{last:%Y%m%d%H%M%S}.log")


def _free(folder: Path, name: str, *, suffix: str) -> Path:
    """Return a path that does not exist: `name`, `name_1`, `name_2` and so on."""
    target, number = folder / f"{name}{suffix}", 0
    while target.exists():
        number += 1
        target = folder / f"{name}_{number}{suffix}"
    return target
