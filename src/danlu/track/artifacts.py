"""An artifact in the training process. Its methods, except `upload` and `download`, never block or raise."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Optional, Union

from danlu.content import drafts
from danlu.content.listing import list_folder
from danlu.content.manifest import Reference, check_path, check_uri
from danlu.track import ending
from danlu.track.values import MAX_TEXT, as_labels, brief, text_of, to_step
from danlu.track.warn import warn_once
from danlu.transfer.copying import copy

if TYPE_CHECKING:
    from danlu.track.run import Run

PathText = Union[str, "os.PathLike[str]"]
UPLOAD_SECONDS = 3600.0
_FINISH = "finish()"
LABELS, ALIASES = "labels of an artifact", "aliases of an artifact"


class Artifact:
    """The result of `track.artifact` and `track.load_artifact`."""

    def __init__(self, header: Mapping[str, Any], folder: Optional[str], *, lost: str = "") -> None:
        """Without a folder it is silent: nothing is written. `lost`: why, when that is not intended."""
        self.id = str(header["artifact"])
        self.name = str(header["name"])
        self.path = folder or os.devnull
        """Folder of this artifact on this machine, for `danlu sync`."""

        self.version: Optional[int] = header.get("version")
        """Assigned by the server; None before the upload."""

        self._header = dict(header)
        self._folder = folder
        self._is_sealed = False
        self._files: set[str] = set()
        self._references: set[str] = set()
        self._failed: dict[str, str] = {}
        """Call -> error. While there is any, the artifact is incomplete and is not sent."""

        self._lost = lost
        self._lock = threading.Lock()
        self._links_folder: Optional[str] = None

    # content

    def add_file(self, file: PathText, path: Optional[str] = None) -> Artifact:
        """Add a file in its current state: later writes to it do not change the artifact.

        `path` is its path in the artifact; a trailing `/` makes it a folder. A problem is one warning, and the artifact
        is not sent until the same call has succeeded.
        """

        def add() -> None:
            local = os.fspath(file)
            self._add(local, place(local, path))

        self._quietly(_call("add_file", file, path), add)
        return self

    def add_dir(self, folder: PathText, path: Optional[str] = None, *, ignore: Sequence[str] = ()) -> Artifact:
        """Add the content of a folder, under its own name or `path`. Symlinks are followed, empty folders are kept.

        `ignore` has patterns such as `*.tmp`. Unsupported files (a broken symlink, a fifo) are one warning, and the
        artifact is not sent, because it would be incomplete.
        """

        def add() -> None:
            if self._folder is None:
                return
            top = os.path.abspath(os.fspath(folder))
            if not os.path.isdir(top):
                raise FileNotFoundError(2, "no such folder", top)
            found = list_folder(top, place(top, path), ignore=[ignore] if isinstance(ignore, str) else ignore)
            for one in found.files:
                self._add(one.local, one.path)
            for empty in found.folders:
                self._write({"folder": empty})

        self._quietly(_call("add_dir", folder, path), add)
        return self

    def add_reference(
        self,
        uri: str,
        path: Optional[str] = None,
        *,
        size: Optional[int] = None,
        checksum: Optional[str] = None,
    ) -> Artifact:
        """Add a reference to an external object, such as `s3://bucket/data/`. It is not read."""

        def add() -> None:
            where = (path or uri.rstrip("/").rpartition("/")[2]).strip("/")
            check_uri(uri)
            check_path(where)
            if where in self._files:
                raise ValueError(f"{where!r} is a file of this artifact already")
            self._write({"reference": Reference(where, uri, _num_bytes(size), checksum)._asdict()})
            self._references.add(where)

        self._quietly(_call("add_reference", uri, path), add)
        return self

    # properties

    @property
    def labels(self) -> list[str]:
        return list(self._header.get("labels") or ())

    @labels.setter
    def labels(self, labels: Sequence[str]) -> None:
        self._set("labels", as_labels(labels, LABELS))

    @property
    def description(self) -> str:
        return str(self._header.get("description") or "")

    @description.setter
    def description(self, text: str) -> None:
        self._set("description", "" if text is None else text_of(text, MAX_TEXT))

    @property
    def aliases(self) -> list[str]:
        """Names such as `best` for this version. They are removed from other versions."""
        return list(self._header.get("aliases") or ())

    @aliases.setter
    def aliases(self, aliases: Sequence[str]) -> None:
        self._set("aliases", as_labels(aliases, ALIASES))

    # upload and download

    def finish(self) -> None:
        """Mark it as complete: the companion, the job's stager or `danlu sync` uploads it. A second call does nothing.

        If something could not be added, it stays unfinished: it is kept here and never sent as if it were complete. One
        warning reports that.
        """
        if self._is_sealed:
            return
        self._failed.pop(_FINISH, None)  # this is another try
        if self._failed:
            ending.forget_artifact(self)
            self._quietly(_FINISH, lambda: self._write({"incomplete": self._failed}))
            told = f"artifact {self.name!r} is incomplete and is not sent; what there is of it is in {self.path}"
            warn_once(f"artifact {self.id} incomplete", told)
            return
        self._quietly(_FINISH, lambda: self._write({"sealed": time.time()}))
        if _FINISH not in self._failed:  # otherwise the end of the process tries again
            self._is_sealed = True
            ending.forget_artifact(self)

    def upload(self, timeout_seconds: float = UPLOAD_SECONDS) -> bool:
        """Finish it, upload it now, and wait. Return whether it is on the server; if not, one warning tells why."""
        from danlu.track.uploading import order

        self.finish()
        if self._folder is None:
            return not self._lost
        if self._failed:
            return False
        done = order({"do": "send", "artifact": self._folder}, timeout_seconds)
        if done.get("is_there"):
            self.version = done.get("version")
            return True
        warn_once("artifact", f"{self.name} was not uploaded: {done.get('message')}; `danlu sync` tries again")
        return False

    def download(self, folder: PathText = ".", timeout_seconds: float = UPLOAD_SECONDS) -> str:
        """Download its files into a folder, and return the folder. Raise OSError when that fails."""
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

    # internal

    def begin(self) -> None:
        """Write the first line of the record, and handle the end of the process."""
        if self._folder is not None:
            drafts.begin_record(self._folder, self._header)
            ending.remember_artifact(self)

    def go_on(self, draft: drafts.Draft) -> None:
        """Take over the state from an earlier process; nothing is written."""
        self._files, self._references = set(draft.files), set(draft.references)
        self._failed = dict(draft.incomplete)
        self._is_sealed = draft.is_sealed

    def loaded(self, folder: str) -> None:
        """Set the folder in which links of an uploaded artifact are recorded."""
        self._is_sealed = True
        self._links_folder = folder

    def link(self, run: Run, kind: str) -> None:
        """Record that a run has read or produced it."""
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
        """In a forked child: become silent. The record belongs to the parent."""
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

    def _set(self, field: str, value: Union[str, list[str], None]) -> None:
        if value is None:  # a warning has told
            return
        self._header[field] = value
        self._quietly(field, lambda: self._write({"set": {field: value}}))

    def _write(self, values: dict[str, Any]) -> None:
        if self._folder is None:
            return
        if self._is_sealed:
            raise ValueError("it is finished; create another one, which is its next version")
        with self._lock:
            drafts.add_line(self._folder, values)

    def _quietly(self, what: str, do: Any) -> None:
        """Run `do`; turn any exception into a warning."""
        try:
            do()
        except Exception as error:
            if not self._is_sealed:
                self._failed[what] = why(error)
            warn_once(f"artifact {self.id} {what}", f"artifact {self.name!r}: {what} did not work: {why(error)}")
        else:
            self._failed.pop(what, None)


def place(local: str, path: Optional[str]) -> str:
    """Return the path of a file or folder in the artifact."""
    own = os.path.basename(os.path.abspath(local))
    if path is None:
        return own
    return (f"{path}{own}" if path.endswith("/") else path).strip("/")


def why(error: BaseException) -> str:
    """Return what an exception tells, for a warning. Never raises, and is never empty."""
    try:
        if isinstance(error, OSError) and error.strerror:
            return f"{error.filename or ''}: {error.strerror}".lstrip(": ")
    except Exception:  # of a foreign class, whose attributes may raise anything; its text is told
        pass
    return text_of(error, MAX_TEXT) or brief(error, MAX_TEXT) or "?"


def _num_bytes(size: Any) -> Optional[int]:
    """Return a size of any type of numbers, such as NumPy's. Raise ValueError for what is none."""
    found = None if size is None else to_step(size)
    if size is not None and (found is None or found < 0):
        raise ValueError(f"its size is {brief(size)}; expected a number of bytes")
    return found


def _call(method: str, what: Any, path: Any) -> str:
    """Return the text that stands for a call: the same for a path and its text, and never the same for two paths."""
    with contextlib.suppress(Exception):  # of what is no path; the call itself warns
        what = os.fspath(what)
    shown = brief(what, MAX_TEXT)
    return f"{method}({shown})" if path is None else f"{method}({shown}, {brief(path, MAX_TEXT)})"
