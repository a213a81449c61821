"""An artifact in the training process. Making one returns at once, and raises nothing that could end the training."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Optional, Union

from danlu.content import drafts
from danlu.content.manifest import Reference, check_path, check_uri
from danlu.track import ending
from danlu.track.warn import warn_once
from danlu.transfer.copying import copy

if TYPE_CHECKING:
    from danlu.track.run import Run

PathText = Union[str, "os.PathLike[str]"]
UPLOAD_SECONDS = 3600.0


class Artifact:
    """What `track.artifact` and `track.load_artifact` return."""

    def __init__(self, header: Mapping[str, Any], folder: Optional[str]) -> None:
        """Without a folder it is silent: nothing is written."""
        self.id = str(header["artifact"])
        self.name = str(header["name"])
        self.path = folder or os.devnull
        """The folder of this artifact on this machine; `danlu sync` takes it."""

        self.version: Optional[int] = header.get("version")
        """The number that the server has given; None before it is uploaded."""

        self._header = dict(header)
        self._folder = folder
        self._is_sealed = False
        self._files: set[str] = set()
        self._references: set[str] = set()
        self._lock = threading.Lock()
        self._links_folder: Optional[str] = None

    # what is in it

    def add_file(self, file: PathText, path: Optional[str] = None) -> Artifact:
        """Add a file as it is now: what is written to it later does not change the artifact.

        `path` is what it is called in the artifact; one that ends in `/` is a folder. A problem is one warning.
        """
        local = os.fspath(file)
        self._quietly(f"add_file({local!r})", lambda: self._add(local, place(local, path)))
        return self

    def add_dir(self, folder: PathText, path: Optional[str] = None) -> Artifact:
        """Add all files below a folder, under its own name or `path`. Links to folders are not followed."""
        top = os.path.abspath(os.fspath(folder))

        def add() -> None:
            if not os.path.isdir(top):
                raise FileNotFoundError(2, "no such folder", top)
            for local in files_below(top):
                self._add(local, f"{place(top, path)}/{os.path.relpath(local, top).replace(os.sep, '/')}".lstrip("/"))

        self._quietly(f"add_dir({os.fspath(folder)!r})", add)
        return self

    def add_reference(
        self,
        uri: str,
        path: Optional[str] = None,
        *,
        size: Optional[int] = None,
        checksum: Optional[str] = None,
    ) -> Artifact:
        """Note something that stays where it is, such as `s3://bucket/data/`. It is not looked at."""

        def add() -> None:
            where = (path or uri.rstrip("/").rpartition("/")[2]).strip("/")
            check_uri(uri)
            check_path(where)
            if where in self._files:
                raise ValueError(f"{where!r} is a file of this artifact already")
            self._write({"reference": Reference(where, uri, size, checksum)._asdict()})
            self._references.add(where)

        self._quietly(f"add_reference({uri!r})", add)
        return self

    # what is said of it

    @property
    def labels(self) -> list[str]:
        return list(self._header.get("labels") or ())

    @labels.setter
    def labels(self, labels: Sequence[str]) -> None:
        self._set("labels", [str(label) for label in ([labels] if isinstance(labels, str) else labels)])

    @property
    def description(self) -> str:
        return str(self._header.get("description") or "")

    @description.setter
    def description(self, text: str) -> None:
        self._set("description", str(text))

    @property
    def aliases(self) -> list[str]:
        """Names such as `best` under which the version is found; another version that had one loses it."""
        return list(self._header.get("aliases") or ())

    @aliases.setter
    def aliases(self, aliases: Sequence[str]) -> None:
        self._set("aliases", [str(alias) for alias in ([aliases] if isinstance(aliases, str) else aliases)])

    # its way

    def finish(self) -> None:
        """Say that nothing will be added: from now on it is uploaded by whoever syncs. A second call does nothing."""
        if self._is_sealed:
            return
        self._quietly("finish()", lambda: self._write({"sealed": time.time()}))
        self._is_sealed = True
        ending.forget_artifact(self)

    def upload(self, timeout_seconds: float = UPLOAD_SECONDS) -> bool:
        """Finish it, bring it to the server now, and wait. Say whether it is there; if not, one warning tells why."""
        from danlu.track.uploading import order

        self.finish()
        if self._folder is None:
            return True
        done = order({"do": "send", "artifact": self._folder}, timeout_seconds)
        if done.get("is_there"):
            self.version = done.get("version")
            return True
        warn_once("artifact", f"{self.name} was not uploaded: {done.get('message')}; `danlu sync` tries again")
        return False

    def download(self, folder: PathText = ".", timeout_seconds: float = UPLOAD_SECONDS) -> str:
        """Bring its files below a folder, and return the folder. Raise OSError when that cannot be done."""
        from danlu.track.uploading import order

        target = os.path.abspath(os.fspath(folder))
        if self.version is None and self._folder is not None and not self.upload(timeout_seconds):
            raise OSError(f"{self.name} is not on the server, so it cannot come from there")
        done = order({"do": "fetch", "artifact": self.id, "to": target}, timeout_seconds)
        if not done.get("is_there"):
            raise OSError(f"{self.name} could not be fetched: {done.get('message')}")
        return target

    def __repr__(self) -> str:
        return f"<Artifact {self.name!r} {self.id}{'' if self.version is None else f' version {self.version}'}>"

    # below: for this package

    def begin(self) -> None:
        """Write the record's first line, and look after the end of the process."""
        if self._folder is not None:
            drafts.begin_record(self._folder, self._header)
            ending.remember_artifact(self)

    def go_on(self, draft: drafts.Draft) -> None:
        """Take over what an earlier process has written; nothing is written."""
        self._files, self._references = set(draft.files), set(draft.references)
        self._is_sealed = draft.is_sealed

    def loaded(self, folder: str) -> None:
        """Where links of an artifact that is on the server are kept, once there is one."""
        self._is_sealed = True
        self._links_folder = folder

    def link(self, run: Run, kind: str) -> None:
        """Note that a run has read or made it."""
        values = {"link": drafts.Link(run.id, kind, os.path.abspath(run.path))._asdict()}
        if self._links_folder is not None:
            if drafts.read_draft(self._links_folder) is None:
                drafts.begin_record(self._links_folder, self._header)
                drafts.add_line(self._links_folder, {"sealed": time.time()})
                known = {"version": self.version, "name": self.name, "at": time.time()}
                drafts.add_line(self._links_folder, {"uploaded": known})
            drafts.add_line(self._links_folder, values)
        elif self._folder is not None:
            drafts.add_line(self._folder, values)

    def after_fork(self) -> None:
        """In a child: be silent. The record is the parent's."""
        self._folder = None
        self._is_sealed = True

    def _add(self, local: str, path: str) -> None:
        if self._folder is None:
            return
        check_path(path)
        if path in self._references:
            raise ValueError(f"{path!r} is a reference of this artifact already")
        if not os.path.isfile(local):
            raise FileNotFoundError(2, "no such file", local)
        size = copy(local, os.path.join(self._folder, drafts.FILES, *path.split("/")))
        self._write({"file": path, "size": size})
        self._files.add(path)

    def _set(self, field: str, value: Any) -> None:
        self._header[field] = value
        self._quietly(field, lambda: self._write({"set": {field: value}}))

    def _write(self, values: dict[str, Any]) -> None:
        if self._folder is None:
            return
        if self._is_sealed:
            raise ValueError("it is finished; make another one, which is its next version")
        with self._lock:
            drafts.add_line(self._folder, values)

    def _quietly(self, what: str, do: Any) -> None:
        """Whatever is wrong, training goes on."""
        try:
            do()
        except Exception as error:
            warn_once(f"artifact {self.id} {what}", f"artifact {self.name!r}: {what} did not work: {_brief(error)}")


def place(local: str, path: Optional[str]) -> str:
    """What a file or folder is called in an artifact."""
    own = os.path.basename(os.path.abspath(local))
    if path is None:
        return own
    return (f"{path}{own}" if path.endswith("/") else path).strip("/")


def files_below(folder: str) -> Iterator[str]:
    for parent, inner, names in os.walk(folder):
        inner.sort()
        for name in sorted(names):
            local = os.path.join(parent, name)
            if os.path.isfile(local):
                yield local


def _brief(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or ''}: {error.strerror}".lstrip(": ")
    return str(error) or repr(error)
