"""Pack image files into TFRecord shards with both indexes.

Shards are written one after another, each atomically. An interrupted run continues after the last complete shard: each
finished shard has a note beside it, with its entries and the digest of the plan that made it. The last step turns the
notes into the `.index` and removes them.
"""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

from danlu_accel.records import native
from danlu_accel.records.errors import BadImageList, BrokenImage
from danlu_accel.records.files import Name, whole_file, write_whole
from danlu_accel.records.index import ENTRY, Entries, Index, Shard, write_idx, write_index
from danlu_accel.records.prepare import PreparedImage, Rewriting, prepare
from danlu_accel.records.sources import Source
from danlu_accel.records.tfrecord import FRAME_BYTES, frame

Progress = Callable[[int, int], None]


class OnBroken(str, Enum):
    """What to do with an image that cannot be decoded."""

    LIST = "list"
    """Omit it and list it in <name>.broken.txt."""
    SKIP = "skip"
    """Omit it."""
    FAIL = "fail"
    """Stop."""


@dataclass(frozen=True)
class PackOptions:
    workers: int = 0
    """Threads that read and rewrite images; 0: use the calling thread only."""
    num_shards: int = 0
    """0: enough for shards of `shard_megabytes`."""
    shard_megabytes: int = 256
    on_broken: OnBroken = OnBroken.LIST
    shuffle_seed: int | None = None
    """Pack the images in a random order; None: in the order of the list."""
    rewriting: Rewriting = field(default_factory=Rewriting)
    progress: Progress | None = None
    """Called now and then with (images done, total images)."""


@dataclass(frozen=True)
class Packed:
    index_path: Path
    num_images: int
    num_bytes: int
    broken: tuple[tuple[str, str], ...]
    """(path, reason) of each omitted image."""
    num_resumed_shards: int


def pack(
    image_dir: Name,
    sources: Sequence[Source],
    name: Name,
    *,
    classes: Sequence[str] = (),
    kind: str = "imagefold",
    options: PackOptions | None = None,
) -> Packed:
    """Write `<name>[-00000-of-0000n].tfrecord`, their `.idx`, and `<name>.index`. `name` may begin with a folder.

    Raises BadImageList if there is nothing to pack: no sources, or none that can be decoded.
    """
    if not sources:
        raise BadImageList(f"no images to pack into {str(name)!r}; expected at least one")
    job = _Job(Path(image_dir), Path(name), options or PackOptions())
    job.target.parent.mkdir(parents=True, exist_ok=True)
    ordered = list(sources)
    if job.options.shuffle_seed is not None:
        order = np.random.Generator(np.random.PCG64(job.options.shuffle_seed)).permutation(len(ordered))
        ordered = [ordered[position] for position in order]
    parts = _split(ordered, job)
    total, done, resumed = len(ordered), 0, 0
    notes = []
    for number, part in enumerate(parts):
        path = job.shard_path(number, len(parts))
        digest = _digest(part, job.options, path.name)
        note = _read_note(path, digest)
        if note is None:
            note = _write_shard(path, part, job, digest, done, total)
        else:
            resumed += 1
        done += len(part)
        job.progress(done, total)
        notes.append(note)
    return _finish(job, notes, classes, kind, resumed)


@dataclass(frozen=True)
class _Job:
    image_dir: Path
    target: Path
    options: PackOptions

    def progress(self, done: int, total: int) -> None:
        if self.options.progress is not None:
            self.options.progress(done, total)

    def shard_path(self, number: int, num_shards: int) -> Path:
        if num_shards == 1:
            return self.target.with_name(f"{self.target.name}.tfrecord")
        return self.target.with_name(f"{self.target.name}-{number:05d}-of-{num_shards:05d}.tfrecord")


@dataclass(frozen=True)
class _Note:
    path: Path
    num_bytes: int
    entries: Entries
    broken: list[tuple[str, str]]


def _split(sources: list[Source], job: _Job) -> list[list[Source]]:
    num_shards = job.options.num_shards
    if num_shards <= 0:
        total = sum(_file_bytes(job.image_dir / source.path) for source in sources)
        num_shards = max(1, round(total / (job.options.shard_megabytes << 20)))
    num_shards = max(1, min(num_shards, len(sources)))
    bounds = [len(sources) * number // num_shards for number in range(num_shards + 1)]
    return [sources[start:stop] for start, stop in zip(bounds, bounds[1:])]


def _file_bytes(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _write_shard(path: Path, part: list[Source], job: _Job, digest: str, done: int, total: int) -> _Note:
    rows: list[tuple[int, ...]] = []
    broken: list[tuple[str, str]] = []
    offset = 0
    with whole_file(path) as file:
        for source, prepared in zip(part, _prepared(part, job)):
            done += 1
            if isinstance(prepared, BrokenImage):
                if job.options.on_broken is OnBroken.FAIL:
                    raise BrokenImage(f"{source.path}: {prepared}; pack with on_broken=list to leave such images out")
                broken.append((source.path, str(prepared)))
                continue
            head, foot = frame(prepared.record)
            file.writelines((head, prepared.record, foot))
            rows.append((offset, len(prepared.record), *_place(prepared, source)))
            offset += len(prepared.record) + FRAME_BYTES
            if done % 64 == 0:
                job.progress(done, total)
    note = _Note(path, offset, np.array(rows, ENTRY), broken)
    write_idx(path.with_suffix(".idx"), note.entries)
    _save_note(note, digest)
    return note


def _place(prepared: PreparedImage, source: Source) -> tuple[int, ...]:
    return prepared.image_at, prepared.image_bytes, source.label, 0, prepared.width, prepared.height


def _prepared(part: list[Source], job: _Job) -> Iterator[PreparedImage | BrokenImage]:
    """Yield the records in order. With workers, a bounded number is prepared ahead."""

    def attempt(source: Source) -> PreparedImage | BrokenImage:
        try:
            return prepare(job.image_dir, source, job.options.rewriting)
        except BrokenImage as error:
            return error

    if job.options.workers <= 0:
        yield from map(attempt, part)
        return
    with ThreadPoolExecutor(job.options.workers) as pool:
        ahead: deque[Future[PreparedImage | BrokenImage]] = deque()
        for source in part:
            ahead.append(pool.submit(attempt, source))
            if len(ahead) > 4 * job.options.workers:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()


def _finish(job: _Job, notes: list[_Note], classes: Sequence[str], kind: str, resumed: int) -> Packed:
    tables = []
    for number, note in enumerate(notes):
        table = note.entries.copy()
        table["shard"] = number
        tables.append(table)
    entries = np.concatenate(tables)
    shards = tuple(Shard(note.path.name, note.num_bytes) for note in notes)
    made_with: dict[str, Any] = asdict(job.options.rewriting)
    made_with["restart_markers"] = job.options.rewriting.restart_markers and native.core is not None
    broken = tuple(item for note in notes for item in note.broken)
    broken_path = job.target.with_name(f"{job.target.name}.broken.txt")
    if broken and job.options.on_broken is OnBroken.LIST:
        write_whole(broken_path, ["".join(f"{path}\t{why}\n" for path, why in broken).encode()])
    else:
        broken_path.unlink(missing_ok=True)
    if not len(entries):
        path, why = broken[0]
        raise BadImageList(f"none of the {len(broken)} images can be decoded, first: {path}: {why}")
    index_path = job.target.with_name(f"{job.target.name}.index")
    write_index(index_path, Index(shards, entries, tuple(classes), kind, made_with))
    for note in notes:
        _note_path(note.path).unlink(missing_ok=True)
    return Packed(index_path, len(entries), sum(shard.num_bytes for shard in shards), broken, resumed)


def _digest(part: list[Source], options: PackOptions, name: str) -> str:
    plan = [name, options.on_broken.value, asdict(options.rewriting), native.core is not None]
    text = json.dumps([plan, [[source.path, source.label, source.features] for source in part]], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _note_path(shard: Path) -> Path:
    return shard.with_name(f".{shard.name}.note.json")


def _save_note(note: _Note, digest: str) -> None:
    text = {"digest": digest, "bytes": note.num_bytes, "entries": note.entries.tolist(), "broken": note.broken}
    write_whole(_note_path(note.path), [json.dumps(text).encode()])


def _read_note(shard: Path, digest: str) -> _Note | None:
    """Return the note of a shard that was finished with the same plan, else None."""
    try:
        text = json.loads(_note_path(shard).read_text())
        is_whole = text["digest"] == digest and shard.stat().st_size == text["bytes"]
    except (OSError, ValueError, KeyError):
        return None
    if not is_whole:
        return None
    entries = np.array([tuple(row) for row in text["entries"]], ENTRY)
    return _Note(shard, int(text["bytes"]), entries, [(path, why) for path, why in text["broken"]])


__all__ = ["OnBroken", "PackOptions", "Packed", "pack"]
