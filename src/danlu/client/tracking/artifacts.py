"""`client.artifacts`: upload, list, read, change and delete artifacts. `danlu.track` creates them offline."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, List, NamedTuple, Optional, Union  # noqa: UP035

from danlu.client.bodies import body
from danlu.client.files.paths import quote_part
from danlu.client.files.progress import Meter, Progress
from danlu.client.http import Http, Query
from danlu.client.pages import pages
from danlu.content.ids import new_artifact_id
from danlu.content.listing import list_folder
from danlu.content.manifest import Manifest, Reference, check_path
from danlu.content.names import is_artifact_id
from danlu.errors import InvalidInput, NotFound
from danlu.transfer.artifact_download import fetch_files, fetch_manifest, make_folders
from danlu.transfer.artifact_upload import NUM_PARALLEL, ArtifactUpload, Source, send_artifact
from danlu.transfer.errors import LocalProblem
from danlu.wire.artifacts import (
    ArtifactOut,
    BeginArtifact,
    ChangeArtifact,
    ChangeVersion,
    DeletedArtifact,
    LinkKind,
    LinkRun,
    VersionOut,
)

PathText = Union[str, "os.PathLike[str]"]
Paths = Union[PathText, Mapping[str, PathText], Sequence[PathText]]
Listener = Callable[[Progress], None]


@dataclass(frozen=True)
class Draft:
    """Description of a version to upload."""

    name: str
    references: Mapping[str, str] = field(default_factory=dict)
    """Path in the artifact -> URI."""

    labels: Sequence[str] = ()
    description: str = ""
    aliases: Sequence[str] = ()
    project: Optional[str] = None
    id: Optional[str] = None
    """A repeated id refers to the same version, for uploads that another process continues."""


class Contents(NamedTuple):
    """The files and empty folders of an artifact."""

    sources: List[Source]  # noqa: UP006
    folders: List[str]  # noqa: UP006


class Uploaded(NamedTuple):
    version: VersionOut
    size: int
    sent_bytes: int
    """Bytes that were sent; the server had the rest."""


class Artifacts:
    def __init__(self, http: Http) -> None:
        self._http = http

    def list(
        self, prefix: str = "", *, label: Optional[str] = None, project: Optional[str] = None
    ) -> Iterator[ArtifactOut]:
        """Artifacts whose names start with `prefix`, newest first, each with its newest version."""
        return pages(
            self._http, "/artifacts", ArtifactOut, query={"prefix": prefix, "label": label, "project": project}
        )

    def versions(self, name: str, *, project: Optional[str] = None) -> Iterator[VersionOut]:
        """All versions, newest first."""
        return pages(self._http, "/artifacts/versions", VersionOut, query={"name": name, "project": project})

    def get(self, ref: str, *, project: Optional[str] = None) -> VersionOut:
        """A version: `name` or `name:latest`, `name:3`, `name:best` (an alias), or its id."""
        if is_artifact_id(ref):
            return self._http.get(f"/artifacts/versions/{ref}", VersionOut)
        return self._http.get("/artifacts/named", VersionOut, query={"ref": ref, "project": project})

    def upload(
        self,
        name: str,
        paths: Paths = (),
        *,
        references: Optional[Mapping[str, str]] = None,
        labels: Sequence[str] = (),
        description: str = "",
        aliases: Sequence[str] = (),
        project: Optional[str] = None,
        progress: Optional[Listener] = None,
    ) -> VersionOut:
        """Upload files and folders as the next version of an artifact.

        `paths` is a file, a folder (its content is put into the artifact), several of them, or path in the artifact ->
        file or folder. Symlinks in folders are followed; unsupported files are an error. `references` is path in the
        artifact -> URI of something that is not uploaded. What the server has is not sent again, also after an
        interruption; the version appears when it is complete.
        """
        draft = Draft(name, references or {}, labels, description, aliases, project)
        return self.send(draft, plan(paths), progress=progress).version

    def send(
        self,
        draft: Draft,
        contents: Contents,
        *,
        progress: Optional[Listener] = None,
        num_parallel: int = NUM_PARALLEL,
    ) -> Uploaded:
        """Like `upload`, for individually named files; also returns how many bytes were sent."""
        begin = body(BeginArtifact, artifact=draft.id or new_artifact_id(), name=draft.name, project=draft.project)
        about = {
            "labels": list(draft.labels),
            "description": draft.description,
            "aliases": list(draft.aliases),
            "created_at": time.time(),
        }
        references = [Reference(path, uri) for path, uri in draft.references.items()]
        start = begin.model_dump(mode="json", exclude_none=True)
        upload = ArtifactUpload(start, about, contents.sources, references, contents.folders)
        meter = Meter(progress, total_bytes=_total(contents.sources), num_files=len(contents.sources))
        with _plain_errors(self._http):
            sent = send_artifact(self._http.api, upload, told=meter.told, num_parallel=num_parallel)
        return Uploaded(VersionOut.model_validate(sent.version), sent.size, sent.sent_bytes)

    def manifest(self, version: VersionOut) -> Manifest:
        """Return the content of a version: files with sizes and digests, and references."""
        with _plain_errors(self._http):
            return fetch_manifest(self._http.api, version.id, version.manifest)

    def download(
        self,
        ref: Union[str, VersionOut],
        to: PathText = ".",
        *,
        only: Sequence[str] = (),
        project: Optional[str] = None,
        progress: Optional[Listener] = None,
        num_parallel: int = NUM_PARALLEL,
    ) -> List[Path]:  # noqa: UP006
        """Download the files of a version into a folder, and return their paths. References are not downloaded.

        `only` names files or folders in the artifact. Each file appears when it is complete and verified; existing ones
        are not downloaded again, also after an interruption.
        """
        version = self.get(ref, project=project) if isinstance(ref, str) else ref
        found = self.manifest(version)
        files = [file for file in found.files if not only or any(_is_below(file.path, path) for path in only)]
        if only and not files:
            raise NotFound(f"{version.name}:{version.version} has nothing at {', '.join(only)}")
        meter = Meter(progress, total_bytes=sum(file.size for file in files), num_files=len(files))
        with _plain_errors(self._http):
            if not only:
                make_folders(found, os.fspath(to))
            paths = fetch_files(
                self._http.api,
                version.id,
                files,
                os.fspath(to),
                told=meter.told,
                num_parallel=num_parallel,
            )
        return [Path(path) for path in paths]

    def change(
        self,
        ref: str,
        *,
        labels: Optional[Sequence[str]] = None,
        description: Optional[str] = None,
        aliases: Optional[Sequence[str]] = None,
        project: Optional[str] = None,
    ) -> VersionOut:
        """Change labels, description or aliases of a version; omitted ones stay."""
        version = self.get(ref, project=project)
        asked = body(ChangeVersion, labels=labels, description=description, aliases=aliases)
        return self._http.patch(f"/artifacts/versions/{version.id}", VersionOut, body=asked)

    def describe(
        self,
        name: str,
        *,
        labels: Optional[Sequence[str]] = None,
        description: Optional[str] = None,
        project: Optional[str] = None,
    ) -> ArtifactOut:
        """Change labels or description of an artifact, which apply to all of its versions."""
        asked = body(ChangeArtifact, labels=labels, description=description)
        query: Query = {"name": name, "project": project}
        answer = self._http.send("PATCH", "/artifacts/named", body=asked, query=query)
        return ArtifactOut.model_validate_json(answer.content)

    def link(self, ref: str, run: str, kind: LinkKind, *, project: Optional[str] = None) -> VersionOut:
        """Record that a run has read (`input`) or produced (`output`) a version."""
        version = self.get(ref, project=project)
        path = f"/artifacts/versions/{quote_part(version.id)}/links"
        return self._http.post(path, VersionOut, body=LinkRun(run=run, kind=kind), is_repeatable=True)

    def delete(self, ref: str, *, project: Optional[str] = None) -> None:
        """Delete one version."""
        self._http.send("DELETE", f"/artifacts/versions/{self.get(ref, project=project).id}")

    def delete_all(self, name: str, *, project: Optional[str] = None) -> int:
        """Delete an artifact with all its versions; return how many there were."""
        query: Query = {"name": name, "project": project}
        return self._http.delete("/artifacts/named", DeletedArtifact, query=query).num_versions


def plan(paths: Paths, *, ignore: Sequence[str] = ()) -> Contents:
    """Return the files to upload and their paths in the artifact. Raise InvalidInput for unsupported ones."""
    found = Contents([], [])
    if isinstance(paths, Mapping):
        named = [(Path(local), path) for path, local in paths.items()]
    else:
        listed = [Path(one) for one in ([paths] if isinstance(paths, (str, os.PathLike)) else paths)]
        named = [(local, "" if local.is_dir() else local.name) for local in listed]
    for local, path in named:
        try:
            _add(found, local, path.strip("/"), ignore)
        except ValueError as error:
            raise InvalidInput(str(error)) from error
    return found


def _add(found: Contents, local: Path, path: str, ignore: Sequence[str]) -> None:
    """Add a file, or everything in a folder."""
    if local.is_dir():
        below = list_folder(str(local), path, ignore=ignore)
        found.sources.extend(Source(one.path, one.local) for one in below.files)
        found.folders.extend(below.folders)
    elif local.is_file():
        check_path(path or local.name)
        found.sources.append(Source(path or local.name, str(local)))
    else:
        raise InvalidInput(f"there is no file or folder {str(local)!r}")


def _total(sources: Sequence[Source]) -> int:
    try:
        return sum(os.path.getsize(source.local) for source in sources)
    except OSError as error:
        raise InvalidInput(f"{error.filename} cannot be read: {error.strerror}") from error


def _is_below(path: str, folder: str) -> bool:
    top = folder.strip("/")
    return path == top or path.startswith(f"{top}/")


@contextmanager
def _plain_errors(http: Http) -> Iterator[None]:
    try:
        with http.plain_errors():
            yield
    except LocalProblem as problem:
        raise InvalidInput(f"{problem.path}: {problem.why}") from problem
    except ValueError as error:
        raise InvalidInput(str(error)) from error
