"""Projects of trackio: one SQLite file each, with `media/` and `artifacts/` beside it. Never writes to the database."""

from __future__ import annotations

import json
import math
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple, Optional

from danlu.importing import media
from danlu.importing.files import inside, load_json, open_foreign, read_inside
from danlu.importing.records import (
    UNREADABLE,
    Alert,
    Event,
    ForeignRun,
    MadeArtifact,
    Medium,
    Points,
    Problems,
    Source,
)

MAX_RUNS = 100_000
_OWN = ("_Username", "_Created", "_Group")
_ALIAS = re.compile(r"[^\W\d_][\w.-]{0,59}")
_NUMBERS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_PAGES = {"trackio.markdown": "text", "trackio.html": "html"}
_FILES = {"trackio.image": "image", "trackio.audio": "audio", "trackio.video": "video"}


class TrackioProjects(Source):
    """The runs of a project's database, or of all databases in a folder such as `~/.cache/huggingface/trackio`."""

    def __init__(self, path: Path) -> None:
        self._files = [path] if path.is_file() else [file for file in sorted(path.glob("*.db")) if file.is_file()]
        self._problems: list[str] = []

    def runs(self) -> Iterator[ForeignRun]:
        for file in self._files:
            try:
                for key in _keys(file):
                    run = self._run(file, key)
                    if run is not None:
                        yield run
            except (sqlite3.Error, *UNREADABLE) as error:
                self._problems.append(f"{file}: {error}")

    def problems(self) -> list[str]:
        return self._problems

    def _run(self, file: Path, key: _Key) -> Optional[ForeignRun]:
        try:
            return _read(file, key)
        except (sqlite3.Error, *UNREADABLE) as error:
            self._problems.append(f"{file}: run {key.name[:80]!r}: {error}")
            return None


class _Key(NamedTuple):
    id: Optional[str]
    name: str

    @property
    def where(self) -> tuple[str, tuple[str, ...]]:
        """Older databases identify runs by name only."""
        return ("run_name = ?", (self.name,)) if self.id is None else ("run_id = ?", (self.id,))


@dataclass(frozen=True)
class TrackioRun(ForeignRun):
    file: Path = field(default_factory=Path)
    found: _Key = field(default_factory=lambda: _Key(None, ""))

    def events(self) -> Iterator[Event]:
        try:
            yield from self._events()
        except sqlite3.Error as error:
            self.problems.add(f"its database cannot be read to its end: {error}")

    def _events(self) -> Iterator[Event]:
        with closing(open_foreign(self.file)) as database:
            tables = _tables(database)
            for table, read in (("metrics", self._metrics), ("system_metrics", self._system), ("alerts", self._alerts)):
                try:
                    yield from read(database) if table in tables else ()
                except sqlite3.Error as error:
                    self.problems.add(f"{table} cannot be read to their end: {error}")
            if "traces" in tables and _count(database, "traces", self.found):
                self.problems.add("its traces have no page here")

    def _metrics(self, database: sqlite3.Connection) -> Iterator[Event]:
        where, values = self.found.where
        query = f"SELECT step, timestamp, metrics FROM metrics WHERE {where} ORDER BY id"
        for step, at, text in database.execute(query, values):
            moment = _moment(at) or self.created_at
            numbers: dict[str, float] = {}
            others: list[tuple[str, Any]] = []
            for name, value in self._mapping(text, f"step {step}").items():
                _sort(name, value, numbers, others)
            if not isinstance(step, int):
                self.problems.add(f"a row has the step {str(step)[:40]!r}, which is no whole number")
                continue
            if numbers:
                epoch = numbers.get("epoch")
                yield Points(numbers, step, moment, epoch if epoch is not None and math.isfinite(epoch) else None)
            for name, value in others:
                try:
                    found = list(_media(name, value, self.file.parent / "media"))
                except UNREADABLE as error:
                    self.problems.add(f"{name[:80]!r} of step {step}: {error}")
                    continue
                for kind, called, data in found:
                    yield Medium(kind, called, data, step, moment)

    def _system(self, database: sqlite3.Connection) -> Iterator[Event]:
        where, values = self.found.where
        query = f"SELECT timestamp, metrics FROM system_metrics WHERE {where} ORDER BY id"
        for at, text in database.execute(query, values):
            moment = _moment(at) or self.created_at
            numbers: dict[str, float] = {}
            for name, value in self._mapping(text, "the machine").items():
                _sort(name, value, numbers, [])
            if numbers:
                yield Points(numbers, int(max(0.0, min(moment - self.created_at, 1e9))), moment, type="system")

    def _alerts(self, database: sqlite3.Connection) -> Iterator[Event]:
        where, values = self.found.where
        query = f"SELECT step, timestamp, level, title, text FROM alerts WHERE {where} ORDER BY id"
        for step, at, level, title, text in database.execute(query, values):
            number = step if isinstance(step, int) else 0
            yield Alert(str(title), str(text or ""), str(level), number, _moment(at) or self.created_at)

    def _mapping(self, text: Any, what: str) -> dict[str, Any]:
        try:
            found = load_json(_bytes(text))
        except ValueError:
            found = None
        if not isinstance(found, dict):
            self.problems.add(f"values of {what} are no JSON object")
            return {}
        return found


def _keys(file: Path) -> list[_Key]:
    """Return the runs of a database, in the order in which they started."""
    with closing(open_foreign(file)) as database:
        tables = _tables(database)
        if "metrics" not in tables and "configs" not in tables:
            raise ValueError("it is no database of trackio: it has neither metrics nor configs")
        found: dict[_Key, None] = {}
        for table in ("configs", "metrics", "system_metrics"):
            if table not in tables:
                continue
            column = "run_id" if "run_id" in _columns(database, table) else "NULL"
            query = f"SELECT {column}, run_name, min(id) FROM {table} GROUP BY 1, 2 ORDER BY 3 LIMIT {MAX_RUNS}"
            for id, name, _ in database.execute(query):
                found[_Key(None if id is None else str(id), str(name))] = None
    by_id = {key.id or key.name: key for key in reversed(found)}
    return [key for key in found if by_id[key.id or key.name] is key]


def _read(file: Path, key: _Key) -> TrackioRun:
    problems = Problems()
    where, values = key.where
    with closing(open_foreign(file)) as database:
        tables = _tables(database)
        query = f"SELECT config, created_at FROM configs WHERE {where} ORDER BY id DESC LIMIT 1"
        row = database.execute(query, values).fetchone() if "configs" in tables else None
        config: dict[str, Any] = {}
        if row is not None:
            try:
                read = load_json(_bytes(row[0]))
                config = read if isinstance(read, dict) else {}
            except ValueError:
                problems.add("its config is no JSON")
        times: list[float] = []
        counts: list[str] = []
        for table in ("metrics", "system_metrics", "alerts"):
            if table in tables:
                query = f"SELECT min(timestamp), max(timestamp), count(*), max(id) FROM {table} WHERE {where}"
                first, last, count, highest = database.execute(query, values).fetchone()
                times += [moment for moment in (_moment(first), _moment(last)) if moment is not None]
                counts.append(f"{count}:{highest}")
        artifacts = tuple(_artifacts(database, file, key, problems)) if "run_artifact_links" in tables else ()
    began = _moment(config.get("_Created")) or (_moment(row[1]) if row is not None else None)
    own = key.id or key.name
    return TrackioRun(
        tracker="trackio",
        key=f"{file.stem}/{own}",
        part=own,
        fingerprint=" ".join(counts),
        name=key.name or own,
        created_at=began or min(times, default=0.0),
        folder=file.stem.strip(". "),
        group=str(config.get("_Group") or ""),
        hparams={name: value for name, value in config.items() if name not in _OWN},
        environment={"user": str(config.get("_Username") or "")},
        ended_at=max(times, default=None),
        artifacts=artifacts,
        problems=problems,
        file=file,
        found=key,
    )


def _artifacts(database: sqlite3.Connection, file: Path, key: _Key, problems: Problems) -> Iterator[MadeArtifact]:
    where, values = key.where
    aliases: dict[int, list[str]] = {}
    for alias, version in database.execute("SELECT alias, artifact_version_id FROM artifact_aliases"):
        aliases.setdefault(version, []).append(str(alias))
    query = f"""SELECT v.id, a.name, a.type, a.description, v.manifest_digest, v.manifest, l.direction
        FROM run_artifact_links l JOIN artifact_versions v ON v.id = l.artifact_version_id
        JOIN artifacts a ON a.id = v.artifact_id WHERE l.{where} ORDER BY v.id, l.direction DESC"""
    for version, name, kind, description, digest, manifest, direction in database.execute(query, values).fetchall():
        files: dict[str, Path] = {}
        references: dict[str, str] = {}
        try:
            for entry in load_json(_bytes(manifest)):
                path, sha256 = str(entry.get("path")), str(entry.get("digest") or "")
                if entry.get("ref"):
                    references[path] = str(entry["ref"])
                    continue
                blob = inside(file.parent / "artifacts" / file.stem, f"blobs/sha256/{sha256[:2]}/{sha256}")
                if blob is None or blob.stat().st_size != entry.get("size", blob.stat().st_size):
                    raise ValueError(f"its file {path[:120]!r} is not on this machine as it was logged")
                files[path] = blob
        except UNREADABLE as error:
            problems.add(f"artifact {str(name)[:80]!r}: {error}")
            continue
        yield MadeArtifact(
            name="/".join(re.sub(r"[^\w.-]+", "-", str(word)).strip("-._")[:90] or "x" for word in (file.stem, name)),
            key=f"{file.stem}/{name}/{digest}",
            kind="input" if direction == "input" else "output",
            files=files,
            references=references,
            labels=(f"type:{kind}"[:200],) if kind else (),
            aliases=tuple(one for one in aliases.get(version, ()) if one != "latest" and _ALIAS.fullmatch(one)),
            description=str(description or "")[:10_000],
        )


def _sort(name: str, value: Any, numbers: dict[str, float], others: list[tuple[str, Any]]) -> None:
    if isinstance(value, str) and value in _NUMBERS:
        numbers[name] = _NUMBERS[value]
    elif isinstance(value, (bool, int, float)):
        try:
            numbers[name] = float(value)
        except OverflowError:
            others.append((name, str(value)))
    elif isinstance(value, dict) and "_type" not in value:
        for inner, one in value.items():
            if isinstance(one, dict) and "_type" not in one:  # one level joins the name, deeper ones become text
                others.append((f"{name}.{inner}", one))
            else:
                _sort(f"{name}.{inner}", one, numbers, others)
    elif value is not None:
        others.append((name, value))


def _media(name: str, value: Any, folder: Path) -> Iterator[tuple[str, str, bytes]]:
    kind = value.get("_type") if isinstance(value, dict) else None
    if kind in _FILES:
        yield _FILES[str(kind)], name, read_inside(folder, str(value.get("file_path")), max_bytes=media.MAX_BYTES)
        if value.get("caption"):
            yield "text", f"{name}/caption", str(value["caption"]).encode("utf-8", "replace")
    elif kind == "trackio.histogram":
        counts = [float(count) for count in value["values"]]
        yield "histogram", name, media.histogram([float(edge) for edge in value["bins"]], counts)
    elif kind == "trackio.table":
        rows = value.get("_value") or []
        columns = list(dict.fromkeys(key for row in rows for key in row))
        yield "table", name, media.table(columns, [[row.get(key) for key in columns] for row in rows])
    elif kind in _PAGES and isinstance(value.get("_value"), str):
        yield _PAGES[str(kind)], name, value["_value"].encode("utf-8", "replace")
    elif kind is not None:
        raise ValueError(f"a {str(kind)[:40]!r} has no page here")
    else:
        yield "text", name, (value if isinstance(value, str) else json.dumps(value)).encode("utf-8", "replace")


def _tables(database: sqlite3.Connection) -> set[str]:
    return {str(name) for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def _columns(database: sqlite3.Connection, table: str) -> set[str]:
    return {str(row[1]) for row in database.execute(f"PRAGMA table_info({table})")}


def _count(database: sqlite3.Connection, table: str, key: _Key) -> int:
    where, values = key.where
    return int(database.execute(f"SELECT count(*) FROM {table} WHERE {where}", values).fetchone()[0])


def _bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")


def _moment(text: Any) -> Optional[float]:
    try:
        found = datetime.fromisoformat(str(text).replace("Z", "+00:00"))
    except ValueError:
        return None
    return (found if found.tzinfo else found.replace(tzinfo=timezone.utc)).timestamp()
