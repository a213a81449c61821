"""Artifacts of W&B: their description in a log, with the files that are still on this machine."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Optional

from danlu.importing import protobuf as pb
from danlu.importing.files import MAX_FILES, load_json
from danlu.importing.records import MadeArtifact, Problems

MAX_MANIFEST_BYTES = 64 << 20
MAX_HASHED_BYTES = 1 << 40
_ALIAS = re.compile(r"[^\W\d_][\w.-]{0,59}")


class _Entry(NamedTuple):
    path: str
    digest: str
    ref: str
    size: int
    local: str


def artifact_of(data: bytes, problems: Problems) -> Optional[MadeArtifact]:
    """Return the version that an artifact record describes; None when its files are not here.

    A log may claim that any file of this machine belongs to the artifact. A file is only accepted if its MD5 matches
    the log, so a forged log cannot have files uploaded whose content its author does not know.
    """
    found = pb.message(data)

    def text(number: int) -> str:
        return pb.text(found.get(number, [b""])[-1])

    name, kind, digest, project = text(5), text(4), text(6), text(2)
    if kind == "run_table":
        return None  # W&B creates one for every table; its file is among those of the run
    files: dict[str, Path] = {}
    references: dict[str, str] = {}
    for entry in _entries(found.get(12, [b""])[-1], problems):
        if entry.ref:
            references[entry.path] = entry.ref
            continue
        place = _checked(entry)
        if place is None:
            problems.add(f"artifact {name[:80]!r}: its file {entry.path[:120]!r} is not here as it was logged")
            return None  # complete or not at all
        files[entry.path] = place
    if not files and not references:
        problems.add(f"artifact {name[:80]!r}: the log has no files of it")
        return None
    clean = "/".join(re.sub(r"[^\w.-]+", "-", word).strip("-._")[:90] or "x" for word in (project or "wandb", name))
    aliases = [pb.text(one) for one in found.get(11, ())]
    return MadeArtifact(
        name=clean,
        key=f"artifact/{text(3)}/{project}/{name}/{digest}",
        files=files,
        references=references,
        labels=(*(pb.text(one)[:200] for one in found.get(19, ())), *([f"type:{kind}"[:200]] if kind else [])),
        aliases=tuple(one for one in aliases if one != "latest" and _ALIAS.fullmatch(one)),
        description=text(7)[:10_000],
    )


def used_of(data: bytes) -> str:
    """Report an artifact that the run has read: the log only has its name."""
    name = pb.text(pb.sub(data, 3)) or pb.text(pb.sub(data, 1))
    return f"it has read the artifact {name[:120]!r}, of which the log has only the name"


def _entries(manifest: bytes, problems: Problems) -> Iterator[_Entry]:
    found = pb.message(manifest)
    place = pb.text(found.get(5, [b""])[-1])
    if place and not found.get(4):
        yield from _entries_of_file(Path(place), problems)
        return
    for at, data in enumerate(found.get(4, ())):
        if at >= MAX_FILES:
            problems.add(f"an artifact has more than {MAX_FILES} files")
            return
        entry = pb.message(data)
        path, digest, ref, local = (pb.text(entry.get(number, [b""])[-1]) for number in (1, 2, 3, 6))
        yield _Entry(path, digest, ref, pb.signed(entry.get(4, [0])[-1]), local)


def _entries_of_file(place: Path, problems: Problems) -> Iterator[_Entry]:
    """For large artifacts the log only contains the path of the manifest."""
    try:
        if not place.is_file() or place.stat().st_size > MAX_MANIFEST_BYTES:
            raise ValueError("it is not there, or too large")
        found = load_json(place.read_bytes())["contents"].items()
        for path, about in list(found)[:MAX_FILES]:
            words = [about.get(name) or "" for name in ("digest", "ref", "local_path")]
            yield _Entry(str(path), str(words[0]), str(words[1]), int(about.get("size") or 0), str(words[2]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        problems.add("the manifest of an artifact, a file beside the log, cannot be read")


def _checked(entry: _Entry) -> Optional[Path]:
    place = Path(entry.local)
    try:
        if not entry.local or not place.is_file() or not 0 <= entry.size <= MAX_HASHED_BYTES:
            return None
        if place.stat().st_size != entry.size:
            return None
        digest = hashlib.md5(usedforsecurity=False)
        with place.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    except (OSError, ValueError):
        return None
    return place if base64.b64encode(digest.digest()).decode() == entry.digest else None
