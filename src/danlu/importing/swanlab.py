"""Runs of SwanLab: `swanlog/run-20250605_163200-a1b2c3d4/run-a1b2c3d4.swanlab`, with `files/` and `media/` beside it.

The file is a transaction log like that of W&B, with protocol buffers `Record`: start 10, finish 11, column 12, scalar
13, media 14, log 16, save 20. Written by SwanLab since 0.8 (version 2 of the format).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Optional

from danlu.importing import files, media
from danlu.importing import protobuf as pb
from danlu.importing.records import (
    UNREADABLE,
    Event,
    ForeignRun,
    MadeArtifact,
    Medium,
    Points,
    Printed,
    Problems,
    Source,
)
from danlu.importing.transaction_log import Damage, Magic, read_records

MAGIC = Magic(b":SWL", 0xE1D6, (2,), "a .swanlab file")
START, FINISH, COLUMN, SCALAR, MEDIA, LOG = 10, 11, 12, 13, 14, 16
MAX_YAML_BYTES = 1 << 20
MAX_FOUND = 100_000
_FOLDERS = {2: "image", 3: "audio", 4: "text", 5: "video", 6: "echarts", 7: "object3d", 8: "molecule", 9: "html"}
"""Type of a column -> its folder below `media`."""

_SHOWN = ("image", "audio", "text", "video", "html")
_STATES = {0: "died", 1: "finished", 2: "failed", 3: "stopped"}
_SYSTEM = 2
_PACKAGE = re.compile(r"([A-Za-z0-9_.-]+)==(\S+)")
LoadYaml = Callable[[bytes], Any]


class SwanlabFolders(Source):
    """All runs at or below a path."""

    def __init__(self, path: Path, load_yaml: LoadYaml) -> None:
        """`load_yaml` raises ValueError for invalid documents."""
        self._path, self._load_yaml = path, load_yaml
        self._problems: list[str] = []

    def runs(self) -> Iterator[ForeignRun]:
        for file in _find(self._path):
            try:
                yield _read(file, self._load_yaml)
            except UNREADABLE as error:
                self._problems.append(f"{file}: {error}")

    def problems(self) -> list[str]:
        return self._problems


@dataclass(frozen=True)
class SwanlabRun(ForeignRun):
    file: Path = field(default_factory=Path)

    def events(self) -> Iterator[Event]:
        of_machine: set[str] = set()
        for kind, data in _records(self.file, Damage()):
            try:
                yield from self._events(kind, data, of_machine)
            except UNREADABLE as error:
                self.problems.add(f"a record of kind {kind} is damaged: {error}")

    def _events(self, kind: int, data: bytes, of_machine: set[str]) -> Iterator[Event]:
        if kind == COLUMN:
            if pb.sub(data, 1) == _SYSTEM:
                of_machine.add(pb.text(pb.sub(data, 3)))
        elif kind == LOG:
            line = pb.sub(data, 1)
            if isinstance(line, bytes):
                yield Printed(1, pb.seconds(pb.sub(data, 3)) or self.created_at, line + b"\n")
        elif kind in (SCALAR, MEDIA):
            key, step = pb.text(pb.sub(data, 1)), pb.signed(pb.sub(data, 2) or 0)
            at = pb.seconds(pb.sub(data, 4)) or self.created_at
            value = pb.sub(data, 5) or b""
            if kind == MEDIA:
                yield from self._media(Medium("", key, value, step, at), pb.sub(data, 3))
            elif key in of_machine:
                number = pb.double(pb.sub(value, 1)) or 0.0
                yield Points({key: number}, int(max(0.0, min(at - self.created_at, 1e9))), at, type="system")
            else:
                yield Points({key: pb.double(pb.sub(value, 1)) or 0.0}, step, at)

    def _media(self, about: Medium, type: Any) -> Iterator[Event]:
        kind = _FOLDERS.get(type, "")
        items = [item for number, item in pb.fields(about.data) if number == 1]
        if kind not in _SHOWN:
            self.problems.add(
                f"{about.name[:80]!r}: {kind or type} has no page here; its files are kept with the run's"
            )
            return
        for at, item in enumerate(items[:1000]):
            found = pb.message(item)
            name = f"{about.name}/{at}" if len(items) > 1 else about.name
            file, caption = (pb.text(found.get(number, [b""])[-1]) for number in (1, 4))
            try:
                data = found.get(5, [b""])[-1] or files.read_inside(
                    self.file.parent / "media" / kind, file, max_bytes=media.MAX_BYTES
                )
            except (ValueError, OSError) as error:
                self.problems.add(f"{name[:80]!r} of step {about.step}: {error}")
                continue
            yield about._replace(kind=kind, name=name, data=data)
            if caption:
                yield about._replace(kind="text", name=f"{name}/caption", data=caption.encode())


def _find(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    found = []
    for parent, folders, names in os.walk(path):
        folders.sort()
        logs = [Path(parent, name) for name in sorted(names) if re.fullmatch(r"run-.*\.swanlab", name)]
        found += [log for log in logs if os.path.isfile(log)]  # reading a pipe would block forever
        if len(found) > MAX_FOUND:
            break
    return sorted(found, key=lambda file: (file.parent.name, str(file)))


def _records(file: Path, damage: Damage) -> Iterator[tuple[int, bytes]]:
    wanted = (START, FINISH, COLUMN, SCALAR, MEDIA, LOG)
    with file.open("rb") as opened:
        for data in read_records(opened, MAGIC, damage=damage):
            try:
                found = next(((kind, value) for kind, value in pb.fields(data) if kind in wanted), None)
            except pb.BadMessage:
                damage.places.append(opened.tell())
                continue
            if found is not None and isinstance(found[1], bytes):
                yield found


def _read(file: Path, load_yaml: LoadYaml) -> SwanlabRun:
    start: Optional[bytes] = None
    finish: Optional[bytes] = None
    damage, problems = Damage(), Problems()
    for kind, data in _records(file, damage):
        start = data if kind == START else start
        finish = data if kind == FINISH else finish
    if start is None:
        raise ValueError("no record has the id of the run" + (f": {damage.problem}" if damage.problem else ""))
    if damage.problem:
        problems.add(damage.problem)
    return _run_of(file, (start, finish), load_yaml, problems)


def _run_of(file: Path, ends: tuple[bytes, Optional[bytes]], load_yaml: LoadYaml, problems: Problems) -> SwanlabRun:
    start, finish = pb.message(ends[0]), pb.message(ends[1])

    def text(number: int) -> str:
        return pb.text(start.get(number, [b""])[-1])

    project, workspace, group, job_type, own = text(1), text(2), text(7), text(8), text(10) or file.stem
    state = _STATES.get(finish.get(1, [0])[-1], "failed")
    beside = {
        **_below(file.parent, "files", problems),
        **_below(file.parent, "media", problems),
    }
    named = "/".join(re.sub(r"[^\w.-]+", "-", word).strip("-._")[:60] or "x" for word in ("swanlab", project, own))
    kept = MadeArtifact(name=named, key=f"files/{workspace}/{project}/{own}/{file.parent.name}", files=beside)
    reason = pb.text(finish.get(2, [b""])[-1])
    if ends[1] is None:
        reason = "the file of SwanLab ends without the end of the run"
    return SwanlabRun(
        tracker="swanlab",
        key=f"{workspace}/{project}/{own}",
        part=file.parent.name,
        fingerprint=str(file.stat().st_size),
        name=text(4) or own,
        created_at=pb.seconds(start.get(12, [None])[-1]) or 0.0,
        folder=project.replace("/", "-").strip(". "),
        group=group,
        labels=(*(pb.text(tag) for tag in start.get(6, ())), *([f"job_type:{job_type}"] if job_type else [])),
        description=text(5),
        hparams=_config(beside, load_yaml, problems),
        environment=_environment(beside, problems),
        state=state,
        reason=reason,
        ended_at=pb.seconds(finish.get(3, [None])[-1]),
        artifacts=(kept,) if beside else (),
        problems=problems,
        file=file,
    )


def _below(folder: Path, name: str, problems: Problems) -> dict[str, Path]:
    top = folder / name
    found = files.tree(top, problems) if top.is_dir() and not top.is_symlink() else {}
    return {f"{name}/{path}": place for path, place in found.items()}


def _config(beside: Mapping[str, Path], load_yaml: LoadYaml, problems: Problems) -> dict[str, Any]:
    """Return the config values, each of which is stored with description and position: `lr: {desc: "", sort: 0, value:
    0.1}`."""
    file = beside.get("files/config.yaml")
    if file is None:
        return {}
    try:
        if file.stat().st_size > MAX_YAML_BYTES:
            raise ValueError(f"it has more than {MAX_YAML_BYTES} bytes")
        found = load_yaml(file.read_bytes())
        if not isinstance(found, dict):
            raise ValueError("it is no mapping")
    except (ValueError, OSError) as error:
        problems.add(f"config.yaml: {error}")
        return {}
    return {
        str(name): value["value"] if isinstance(value, dict) and "value" in value else value
        for name, value in found.items()
    }


def _environment(beside: Mapping[str, Path], problems: Problems) -> dict[str, Any]:
    found: dict[str, Any] = {}
    about = beside.get("files/swanlab-metadata.json")
    if about is not None:
        try:
            read = files.load_json(_head(about))
            runtime, git = read.get("runtime") or {}, read.get("git") or {}
            named = {"os": "os", "host": "hostname", "cwd": "cwd", "python": "python_version", "command": "command"}
            found = {name: str(runtime[key]) for name, key in named.items() if runtime.get(key)}
            if git.get("commit"):
                names = {"remote": "remote_url", "branch": "branch", "commit": "commit"}
                found["git"] = {name: str(git.get(key) or "") for name, key in names.items()}
        except (ValueError, AttributeError, TypeError):
            problems.add("swanlab-metadata.json cannot be read")
    packages = beside.get("files/requirements.txt")
    if packages is not None:
        found["packages"] = dict(_PACKAGE.findall(_head(packages).decode("utf-8", "replace")))
    return found


def _head(file: Path) -> bytes:
    with file.open("rb") as opened:
        return opened.read(1 << 19)
