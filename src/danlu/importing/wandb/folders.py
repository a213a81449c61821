"""Offline folders of W&B: `wandb/offline-run-20240101_120000-abcd1234/run-abcd1234.wandb`, with `files/` beside it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

from danlu.importing import files
from danlu.importing import protobuf as pb
from danlu.importing.records import UNREADABLE, Event, ForeignRun, MadeArtifact, Problems, Source
from danlu.importing.transaction_log import Damage
from danlu.importing.wandb import log
from danlu.importing.wandb.artifacts import artifact_of, used_of
from danlu.importing.wandb.events import events_of

MAX_ARTIFACTS = 10_000
MAX_AXES = 10_000
MAX_ENVIRONMENT_BYTES = 1 << 20
MAX_FOUND = 100_000
_PACKAGE = re.compile(r"([A-Za-z0-9_.-]+)==(\S+)")


class WandbFolders(Source):
    """All runs at or below a path: a .wandb file, the folder of a run, a folder `wandb`, or any parent folder."""

    def __init__(self, path: Path, *, follow_links: bool = False) -> None:
        """`follow_links` also reads targets of symlinks in `files/`, which `wandb.save` creates."""
        self._path, self._follow_links = path, follow_links
        self._problems: list[str] = []

    def runs(self) -> Iterator[ForeignRun]:
        parts: dict[str, int] = {}
        for file in find_logs(self._path):
            try:
                read = read_run(file, follow_links=self._follow_links)
            except UNREADABLE as error:
                self._problems.append(f"{file}: {error}")
                continue
            parts[read.key] = parts.get(read.key, 0) + 1
            yield read if parts[read.key] == 1 else _as_branch(read, parts[read.key])

    def problems(self) -> list[str]:
        return self._problems


def find_logs(path: Path) -> list[Path]:
    """Return the .wandb files at or below a path, oldest first: their folders start with the time."""
    if path.is_file():
        return [path]
    found = []
    for parent, folders, names in os.walk(path):
        folders.sort()
        if Path(parent).name == "latest-run" and Path(parent).is_symlink():
            continue
        logs = [Path(parent, name) for name in sorted(names) if name.endswith(".wandb")]
        found += [log for log in logs if os.path.isfile(log)]  # reading a pipe would block forever
        if len(found) > MAX_FOUND:
            break
    return sorted(found, key=lambda file: (file.parent.name.partition("run-")[2], str(file)))


@dataclass
class _Read:
    """Results of the first pass over a log."""

    config: dict[str, Any] = field(default_factory=dict)
    summary: dict[str, Any] = field(default_factory=dict)
    run: Optional[bytes] = None
    exit: Optional[bytes] = None
    environment: Optional[bytes] = None
    axes: dict[str, str] = field(default_factory=dict)
    artifacts: list[MadeArtifact] = field(default_factory=list)
    problems: Problems = field(default_factory=Problems)
    num_history: int = 0


@dataclass(frozen=True)
class WandbRun(ForeignRun):
    file: Path = field(default_factory=Path)

    def events(self) -> Iterator[Event]:
        return events_of(self.file, began=self.created_at, problems=self.problems)


def read_run(file: Path, *, follow_links: bool = False) -> WandbRun:
    """Read the description of a run from a log, without events. Raise NotALog or ValueError when there is none."""
    read, damage = _Read(), Damage()
    for record in log.read_log(file, damage):
        try:
            _take(read, record)
        except UNREADABLE as error:
            read.problems.add(f"a record of kind {record.kind} is damaged: {error}")
    if read.run is None:
        raise ValueError("no record has the id of the run" + (f": {damage.problem}" if damage.problem else ""))
    if damage.problem:
        read.problems.add(damage.problem)
    return _run_of(file, read, follow_links)


def _take(read: _Read, record: log.Record) -> None:
    if record.kind == log.RUN:
        read.run = record.data
        _note(read, "config", log.changed(read.config, pb.sub(record.data, 4) or b""))
        _note(read, "summary", log.changed(read.summary, pb.sub(record.data, 5) or b""))
    elif record.kind == log.CONFIG:
        _note(read, "config", log.changed(read.config, record.data))
    elif record.kind == log.SUMMARY:
        _note(read, "summary", log.changed(read.summary, record.data))
    elif record.kind == log.METRIC:
        _define(read, record.data)
    elif record.kind == log.EXIT:
        read.exit = record.data
    elif record.kind == log.ENVIRONMENT:
        if len(read.environment or b"") < MAX_ENVIRONMENT_BYTES:
            read.environment = (read.environment or b"") + record.data  # consecutive messages are merged
    elif record.kind in (log.ARTIFACT, log.USE_ARTIFACT):
        if len(read.artifacts) >= MAX_ARTIFACTS:
            read.problems.add(f"more than {MAX_ARTIFACTS} artifacts")
            return
        made = artifact_of(record.data, read.problems) if record.kind == log.ARTIFACT else None
        if record.kind == log.USE_ARTIFACT:
            read.problems.add(used_of(record.data))
        if made is not None:
            read.artifacts.append(made)


def _define(read: _Read, data: bytes) -> None:
    """Record a `define_metric`: the axis of a metric, or of all metrics that match a glob."""
    found = pb.message(data)
    name, glob, axis = (pb.text(found.get(number, [b""])[-1]) for number in (1, 2, 4))
    if (name or glob) and axis and axis != "_step":
        if len(read.axes) < MAX_AXES:
            read.axes[name or glob] = axis
        else:
            read.problems.add(f"more than {MAX_AXES} metrics have an axis of their own")


def _note(read: _Read, what: str, wrong: list[str]) -> None:
    for key in wrong:
        read.problems.add(f"{what} {key!r} is no JSON")


def _run_of(file: Path, read: _Read, follow_links: bool) -> WandbRun:
    run = pb.message(read.run)

    def text(number: int) -> str:
        return pb.text(run.get(number, [b""])[-1])

    own_id, entity, project, group, job_type = text(1), text(2), text(3), text(6), text(7)
    began = pb.seconds(run.get(17, [None])[-1]) or 0.0
    state, reason, ended_at = _end(read.exit, began)
    below = file.parent / "files"
    beside = files.tree(below, read.problems, follow_links=follow_links) if below.is_dir() else {}
    if beside:
        named = "/".join(_part(word) for word in ("wandb", project or "uncategorized", own_id))
        read.artifacts.append(
            MadeArtifact(name=named, key=f"files/{entity}/{project}/{own_id}/{file.parent.name}", files=beside)
        )
    read.config.pop("_wandb", None)
    return WandbRun(
        tracker="wandb",
        key=f"{entity}/{project}/{own_id}",
        part=file.parent.name,
        fingerprint=str(file.stat().st_size),
        name=text(8) or own_id,
        created_at=began,
        folder=_folder(project) if project.strip() else "",
        group=group,
        labels=(
            *(pb.text(tag) for tag in run.get(10, ())),
            *(f"{name}:{word}" for name, word in (("job_type", job_type), ("sweep", text(12))) if word),
        ),
        description=text(9),
        axes=read.axes,
        hparams=read.config,
        summary={name: value for name, value in read.summary.items() if not name.startswith("_") and _is_plain(value)},
        environment=_environment(run, read, beside),
        state=state,
        reason=reason,
        ended_at=ended_at,
        artifacts=tuple(read.artifacts),
        problems=read.problems,
        file=file,
    )


def _as_branch(run: WandbRun, number: int) -> WandbRun:
    """A resumed run continues in another file: as a newer branch, it supersedes the steps that it repeats."""
    return WandbRun(**{**vars(run), "branch": number})


def _end(exit: Optional[bytes], began: float) -> tuple[str, str, Optional[float]]:
    if exit is None:
        return "died", "the file of W&B ends without the end of the run", None
    found = pb.message(exit)
    code = pb.signed(found.get(1, [0])[-1])
    runtime = pb.signed(found.get(2, [0])[-1])
    ended = began + runtime if 0 < runtime < 1 << 32 else None
    return ("finished", "", ended) if code == 0 else ("failed", f"exit code {code}", ended)


def _environment(run: dict[int, list[Any]], read: _Read, beside: Mapping[str, Path]) -> dict[str, Any]:
    """Return the environment that W&B captured: the record, or `wandb-metadata.json`, and `requirements.txt`."""
    found: dict[str, Any] = {}
    for name, number in (("entity", 2), ("project", 3), ("group", 6), ("job_type", 7), ("sweep", 12), ("host", 13)):
        value = pb.text(run.get(number, [b""])[-1])
        if value:
            found[name] = value
    if read.environment is not None:
        about = pb.message(read.environment)
        for name, number in (("os", 1), ("python", 2), ("program", 6), ("user", 13), ("executable", 14), ("gpu", 18)):
            if about.get(number):
                found[name] = pb.text(about[number][-1])
        if about.get(6):
            found["command"] = [pb.text(about[6][-1]), *(pb.text(one) for one in about.get(5, ()))]
    found.update(_metadata(beside))
    commit = run.get(21, [None])[-1] or (pb.sub(read.environment, 9) if read.environment is not None else None)
    if commit:
        found["git"] = {"remote": pb.text(pb.sub(commit, 1)), "commit": pb.text(pb.sub(commit, 2))}
        if "diff.patch" in beside:
            found["git"]["diff"] = _text_of(beside["diff.patch"])
    packages = dict(_PACKAGE.findall(_text_of(beside["requirements.txt"]))) if "requirements.txt" in beside else {}
    return {**found, **({"packages": packages} if packages else {})}


def _metadata(beside: Mapping[str, Path]) -> dict[str, Any]:
    if "wandb-metadata.json" not in beside:
        return {}
    try:
        found = files.load_json(_text_of(beside["wandb-metadata.json"]).encode())
    except ValueError:
        return {}
    named = {"os": "os", "python": "python", "program": "program", "host": "host", "username": "user", "gpu": "gpu"}
    taken = found.items() if isinstance(found, dict) else ()
    return {named[key]: str(value) for key, value in taken if key in named and value}


def _is_plain(value: Any) -> bool:
    """Whether the value is not a medium: media are logged with their steps."""
    return not (isinstance(value, dict) and "_type" in value)


def _text_of(file: Path) -> str:
    with file.open("rb") as opened:
        return opened.read(1 << 19).decode("utf-8", "replace")


def _part(word: str) -> str:
    """Convert a word to a valid part of an artifact's name."""
    return re.sub(r"[^\w.-]+", "-", word).strip("-._")[:60] or "x"


def _folder(word: str) -> str:
    clean = "".join(char if char.isprintable() else " " for char in word.replace("/", "-")).strip()[:120]
    return clean if clean not in ("", ".", "..") else "-"
