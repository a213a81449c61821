"""`Artifact` with the interface of the original.

.em/artifacts/mnist_torch_saved_model_230908_165433_tou3ai/
  metadata.yaml  references.yaml (if there are references)  and the objects
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Optional

from danlu.content.listing import list_folder
from t9k.em import files

REFERENCES = "references.yaml"
PARTIAL = ".partial."
ADDING = f"{PARTIAL}add_dir-"
KEPT = {files.METADATA, REFERENCES}
"""Reserved names: in the original, such objects would overwrite its own files."""


class Artifact:
    """Created by `create_artifact` and `load_artifact`. Files are copied to its folder at once."""

    def __init__(self, metadata: Mapping[str, Any], objects: Optional[Mapping[str, Any]] = None) -> None:
        self._metadata = dict(metadata)
        self._references = {path: one["uri"] for path, one in (objects or {}).items() if "uri" in one}
        self._folder: Optional[Path] = None
        self._checksums: dict[tuple[str, int, int], str] = {}

    name = property(lambda self: self._metadata["name"])
    labels = property(lambda self: self._metadata["labels"])
    description = property(lambda self: self._metadata["description"])
    created_timestamp = property(lambda self: self._metadata["createdTimestamp"])
    alternative_name = property(lambda self: self._metadata["alternativeName"])
    remote = property(lambda self: self._metadata["remote"])
    local = property(lambda self: str(self._folder))

    @property
    def objects(self) -> dict[str, dict[str, Any]]:
        """Path -> `{path, size_bytes, checksum}` (MD5) of a file, or `{path, uri}` of a reference."""
        assert self._folder is not None
        found: dict[str, dict[str, Any]] = {
            path: {"path": path, "size_bytes": local.stat().st_size, "checksum": self._md5(local)}
            for path, local in objects_in(self._folder).items()
        }
        return {**found, **{path: {"path": path, "uri": uri} for path, uri in self._references.items()}}

    def add_file(self, file_path: str, obj_path: Optional[str] = None) -> None:
        """Copy a file into the artifact: under its own name, into `obj_path` if that ends in `/`, or as `obj_path`."""
        if not os.path.isfile(file_path):
            raise RuntimeError(f"File does not exist: {file_path}")
        self._copy(file_path, _place(file_path, obj_path))

    def add_dir(self, dir_path: str, obj_path: Optional[str] = None) -> None:
        """Copy a folder with its content. Existing files with the same path are replaced, others are kept."""
        assert self._folder is not None
        top = os.path.abspath(dir_path)
        if not os.path.isdir(top):
            raise RuntimeError(f"Directory does not exist: {dir_path}")
        found = list_folder(top, _place(top, obj_path))
        mark = self._folder / f"{ADDING}{hashlib.sha256(top.encode('utf-8', 'surrogateescape')).hexdigest()[:12]}"
        mark.write_text(dir_path)  # remains if copying fails: an incomplete folder is not uploaded
        for one in found.files:
            self._copy(one.local, one.path)
        for path in found.folders:
            self._folder.joinpath(*path.split("/")).mkdir(parents=True, exist_ok=True)
        mark.unlink()

    def add_reference(self, uri: str, obj_path: Optional[str] = None) -> None:
        """Add a URI; its content is not fetched."""
        assert self._folder is not None
        path = _place(uri.rstrip("/"), obj_path)
        _check(path)
        if path in objects_in(self._folder):
            raise ValueError(f"Object path is a file already: '{path}'")
        self._references[path] = uri
        files.write(self._folder / REFERENCES, self._references)

    def upload(self, folder: str = "default", make_folder: bool = False, conflict_strategy: str = "new") -> None:
        """Upload the artifact to the server of `login`. Files that the server has are not sent again."""
        from t9k.em.upload_artifact import upload_artifact

        assert self._folder is not None
        done = upload_artifact(self._folder, folder, make_folder, conflict_strategy)
        if done is not None:
            self._metadata["remote"].append(done)

    def to_dict(self) -> dict[str, Any]:
        return dict(self._metadata)

    def parse_from_dict(self, metadata: Mapping[str, Any]) -> None:
        self._metadata = dict(metadata)

    # internal: used by create_artifact and load_artifact

    def begin(self, folder: Path) -> None:
        """Write the metadata; other files in the folder are kept."""
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        files.write(folder / files.METADATA, self._metadata)

    def _copy(self, source: str, path: str) -> None:
        assert self._folder is not None
        _check(path)
        if path in self._references:
            raise ValueError(f"Object path is a reference already: '{path}'")
        target = self._folder.joinpath(*path.split("/"))
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)

    def _md5(self, local: Path) -> str:
        """Return the checksum; reads a file only if it has changed."""
        about = local.stat()
        key = (str(local), about.st_size, about.st_mtime_ns)
        if key not in self._checksums:
            digest = hashlib.md5()
            with local.open("rb") as file:
                while piece := file.read(1 << 20):
                    digest.update(piece)
            self._checksums[key] = digest.hexdigest()
        return self._checksums[key]


def create_artifact(name: str, labels: Any = None, description: str = "") -> Artifact:
    """Create an artifact in `.em/artifacts`."""
    files.check_name(name, "Artifact")
    own = files.alternative_name(name)
    metadata = {
        "kind": "Artifact",
        "name": name,
        "labels": list(labels) if files.is_sequence(labels) else [],
        "description": str(description),
        "createdTimestamp": files.now(),
        "alternativeName": own,
        "remote": [],
    }
    made = Artifact(metadata)
    made.begin(files.artifacts_folder() / own)
    return made


def load_artifact(path: str) -> Artifact:
    """Load a local artifact, or else fetch `/<user>/<folder>/<name>` from the server of `login`."""
    from t9k.em.errors import NotAnArtifact
    from t9k.em.upload_artifact import download_artifact

    place = Path(path)
    if not place.is_dir() and not path.startswith("/") and "/" not in path:
        place = files.artifacts_folder() / path
    if not place.is_dir():
        place = download_artifact(path)
    metadata = files.read(place / files.METADATA) or {}
    if metadata.get("kind") != "Artifact":
        raise NotAnArtifact(f"Not an Artifact: '{path}'")
    metadata["remote"] = metadata.get("remote") or []
    made = Artifact(metadata, {one: {"uri": uri} for one, uri in references_in(place).items()})
    made.begin(place)
    return made


def objects_in(folder: Path) -> dict[str, Path]:
    """Return path -> file for all objects in an artifact's folder."""
    found = {}
    for local in sorted(folder.rglob("*")):
        path = local.relative_to(folder).as_posix()
        if local.is_file() and path not in KEPT and not path.startswith(PARTIAL):
            found[path] = local
    return found


def empty_folders_in(folder: Path) -> list[str]:
    below = sorted(local for local in folder.rglob("*") if local.is_dir() and not any(local.iterdir()))
    return [local.relative_to(folder).as_posix() for local in below]


def incomplete_in(folder: Path) -> Optional[str]:
    """Return a folder that was copied only in part, if any. Adding it again completes it."""
    return next((mark.read_text() for mark in sorted(folder.glob(f"{ADDING}*"))), None)


def references_in(folder: Path) -> dict[str, str]:
    place = folder / REFERENCES
    return {str(path): str(uri) for path, uri in (files.read(place) or {}).items()} if place.exists() else {}


def _place(source: str, obj_path: Optional[str]) -> str:
    own = os.path.basename(source)
    if obj_path is None:
        return own
    return (f"{obj_path}{own}" if obj_path.endswith("/") else obj_path).lstrip("/")


def _check(path: str) -> None:
    from danlu.content.manifest import check_path

    check_path(path)
    if path in KEPT:
        raise ValueError(f"Object path is kept for the artifact itself: '{path}'")
