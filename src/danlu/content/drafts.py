"""An artifact on this machine, before and after it is on the server. Nothing is ever overwritten in its record.

artifacts/mnist-model-art-4mpa3.../
  artifact.jsonl       a line per event; a last line that is not whole is passed over
  files/               copies of what was added, by their paths in the artifact; removed once the server has them

The lines are in `docs/formats/artifacts.md`.
"""

from __future__ import annotations

import io
import json
import os
import re
from typing import Any, NamedTuple, Optional

from danlu.content.manifest import Reference, check_path

FORMAT = 1
FOLDER = "artifacts"
RECORD, FILES = "artifact.jsonl", "files"
MAX_RECORD_BYTES = 256 << 20
MAX_HEADER_BYTES = 1 << 20


class Link(NamedTuple):
    """A run that has read or made it."""

    run: str
    kind: str
    folder: str = ""
    """Where the run's journals are, on the machine that wrote this."""


class Draft(NamedTuple):
    """A record, read."""

    header: dict[str, Any]
    files: dict[str, int]
    """Path -> size."""

    references: dict[str, Reference]
    about: dict[str, Any]
    """labels, description, aliases"""

    links: tuple[Link, ...]
    linked: tuple[Link, ...]
    """Those that the server knows of."""

    is_sealed: bool
    """Whether nothing will be added any more."""

    folders: tuple[str, ...]
    """Empty ones."""

    incomplete: dict[str, str]
    """Call that did not work -> why. Such an artifact is not sent."""

    uploaded: Optional[dict[str, Any]]
    """`version`, `name` and `at` (Unix seconds) once the server has it."""

    @property
    def id(self) -> str:
        return str(self.header["artifact"])

    @property
    def why_unfinished(self) -> str:
        for call, why in self.incomplete.items():
            return f"it is incomplete: {call}: {why}"
        return "it was begun and not finished"

    @property
    def is_done(self) -> bool:
        """Whether the server has all of it."""
        return self.uploaded is not None and set(self.links) <= set(self.linked)


def folder_name(name: str, artifact_id: str) -> str:
    return f"{re.sub(r'[^0-9A-Za-z_.-]+', '-', name).strip('-.')[:60] or 'artifact'}-{artifact_id}"


def begin_record(folder: str, header: dict[str, Any]) -> None:
    """Make the folder with the first line of its record."""
    os.makedirs(folder, exist_ok=True)
    add_line(folder, {"format": FORMAT, **header})


def add_line(folder: str, values: dict[str, Any]) -> None:
    """Append a line; it is in the file when this returns."""
    data = json.dumps(values, separators=(",", ":")).encode() + b"\n"
    descriptor = os.open(os.path.join(folder, RECORD), os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    try:
        size = os.fstat(descriptor).st_size
        if size and os.pread(descriptor, 1, size - 1) != b"\n":
            data = b"\n" + data  # what a full disk or a kill left of a line stays a line of its own
        if os.write(descriptor, data) != len(data):
            raise OSError(28, "no room for the record", folder)
    finally:
        os.close(descriptor)


def read_draft(folder: str) -> Optional[Draft]:
    """Read a record; None when there is none with a beginning."""
    try:
        with open(os.path.join(folder, RECORD), "rb") as file:
            return parse(file.read(MAX_RECORD_BYTES))
    except (FileNotFoundError, NotADirectoryError):
        return None


def parse(data: bytes) -> Optional[Draft]:
    """What the lines come to. Lines that make no sense are passed over."""
    # one at a time: the record is untrusted, and may have any number of lines
    lines = (one for one in map(_line, io.BytesIO(data)) if one is not None)
    header = next(lines, None)
    if header is None or not isinstance(header.get("artifact"), str) or header.get("format") != FORMAT:
        return None
    about: dict[str, Any] = {name: header[name] for name in ("labels", "description", "aliases") if name in header}
    found = _Found(about)
    for line in lines:
        try:
            found.take(line)
        except (TypeError, ValueError):
            continue  # of a newer version, or damaged
    return Draft(
        header,
        found.files,
        found.references,
        about,
        links=tuple(found.links),
        linked=tuple(link for link, is_known in found.links.items() if is_known),
        is_sealed=found.is_sealed,
        folders=tuple(found.folders),
        incomplete=found.incomplete,
        uploaded=found.uploaded,
    )


class _Found:
    """What was read so far."""

    def __init__(self, about: dict[str, Any]) -> None:
        self.about = about
        self.files: dict[str, int] = {}
        self.references: dict[str, Reference] = {}
        self.links: dict[Link, bool] = {}
        self.is_sealed = False
        self.folders: dict[str, None] = {}
        self.incomplete: dict[str, str] = {}
        self.uploaded: Optional[dict[str, Any]] = None

    def take(self, line: dict[str, Any]) -> None:
        """Raise TypeError or ValueError when the line makes no sense."""
        if "file" in line:
            check_path(line["file"])
            self.files[line["file"]] = int(line["size"])
        elif "reference" in line:
            one = Reference(**line["reference"])
            check_path(one.path)
            self.references[one.path] = one
        elif "folder" in line:
            check_path(line["folder"])
            self.folders[line["folder"]] = None
        elif "incomplete" in line:
            self.incomplete = {str(call): str(why) for call, why in dict(line["incomplete"]).items()}
        elif "set" in line:
            self.about.update(line["set"])
        elif "link" in line:
            self.links.setdefault(Link(**line["link"]), False)
        elif "linked" in line:
            self.links[Link(**line["linked"])] = True
        elif "uploaded" in line:
            self.uploaded = {**line["uploaded"], "version": int(line["uploaded"]["version"])}
        elif "sealed" in line:
            self.is_sealed = True


def find_drafts(folder: str) -> list[str]:
    """The folders of artifacts at or below a folder, in the order in which they were begun: versions are numbered so.

    Nothing inside of one is looked at.
    """
    found = []
    for parent, inner, names in os.walk(folder):
        if RECORD in names:
            inner.clear()
            found.append((_begun_at(parent), parent))
    return [parent for _, parent in sorted(found)]


def begun_at(header: dict[str, Any]) -> float:
    """When an artifact was begun; one that does not say comes first."""
    at = header.get("created_at")
    return float(at) if isinstance(at, (int, float)) else 0.0


def _begun_at(folder: str) -> float:
    try:
        with open(os.path.join(folder, RECORD), "rb") as file:
            return begun_at(_line(file.readline(MAX_HEADER_BYTES)) or {})
    except OSError:
        return 0.0


def _line(data: bytes) -> Optional[dict[str, Any]]:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
