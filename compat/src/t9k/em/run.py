"""`Run` with the interface of the original."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Optional

from t9k.em import files
from t9k.em.containers import Params
from t9k.em.plain_yaml import plain

UPLOAD_SECONDS = 5.0


class Run:
    """Created by `create_run` and `load_run`. Writes to its folder at once; `upload` sends it to the server."""

    def __init__(
        self,
        metadata: Mapping[str, Any],
        hparams: Optional[Mapping[str, Any]] = None,
        metrics: Optional[Mapping[str, Any]] = None,
        platform: Optional[Mapping[str, Any]] = None,
        git: Optional[Mapping[str, Any]] = None,
    ) -> None:
        self._metadata = dict(metadata)
        self._metrics: dict[str, list[dict[str, Any]]] = {name: list(found) for name, found in (metrics or {}).items()}
        self._platform = dict(platform or {})
        self._git = dict(git or {})
        self._folder: Optional[Path] = None
        self._lock = threading.Lock()
        self._uploading = threading.Lock()
        self._printed: Optional[int] = None
        self._is_over = threading.Event()
        self._uploader: Optional[threading.Thread] = None
        self._chosen = ("default", False, "new")
        self.hparams = Params(self._write_hparams, hparams)

    name = property(lambda self: self._metadata["name"])
    labels = property(lambda self: self._metadata["labels"])
    description = property(lambda self: self._metadata["description"])
    start_timestamp = property(lambda self: self._metadata["startTimestamp"])
    end_timestamp = property(lambda self: self._metadata["endTimestamp"])
    status = property(lambda self: self._metadata["status"])
    alternative_name = property(lambda self: self._metadata["alternativeName"])
    associations = property(lambda self: self._metadata["associations"])
    asso = associations
    remote = property(lambda self: self._metadata["remote"])
    metrics = property(lambda self: self._metrics)
    platform = property(lambda self: self._platform)
    git = property(lambda self: self._git)
    local = property(lambda self: str(self._folder))

    def log(self, type: str, metrics: Mapping[str, Any], step: int, epoch: Optional[int] = None) -> None:
        """Append values to `metrics/<type>.yaml`. The type is stored unchanged; the server knows synonyms."""
        type = str(plain(type))
        record = {
            "value": {str(name): float(value) for name, value in metrics.items()},
            "sequence": {"epoch": plain(epoch), "step": int(step), "timestamp": files.now()},
        }
        with self._lock:
            if type not in self._metrics:
                self._metrics[type] = []
                if self._folder is not None:
                    files.write_index(self._folder, list(self._metrics))
            self._metrics[type].append(record)
            if self._folder is not None:
                files.append_metrics(self._folder, type, record)

    def mark_input(self, resource: Any) -> None:
        """Record that the run has read an Artifact. Assets are not supported: TypeError."""
        self._mark("input", resource)

    def mark_output(self, resource: Any) -> None:
        """Record that the run has created an Artifact; it is uploaded with the run."""
        self._mark("output", resource)

    def finish(self) -> None:
        """End the run. May be called once."""
        if self._is_over.is_set():
            raise RuntimeError("Method finish can be called once only for each instance")
        self._end("Complete")

    def upload(self, folder: str = "default", make_folder: bool = False, conflict_strategy: str = "new") -> None:
        """Upload the run to the server of `login`; may be called repeatedly, before and after `finish`."""
        from t9k.em.upload import upload_run

        assert self._folder is not None
        with self._uploading:
            found = self._as_it_is()  # `log` may be called meanwhile
            done = upload_run(self._folder, folder, make_folder, conflict_strategy, found)
            if done is not None:
                with self._lock:
                    self._metadata["remote"].append(done)
                    self._write_metadata()

    def to_dict(self) -> dict[str, Any]:
        return dict(self._metadata)

    def parse_from_dict(self, metadata: Mapping[str, Any]) -> None:
        self._metadata = dict(metadata)

    def _mark(self, kind: str, resource: Any) -> None:
        from t9k.em.artifact import Artifact

        if not isinstance(resource, Artifact):
            raise TypeError(f"Instance type cannot be marked: {type(resource).__name__}")
        with self._lock:
            known = self._metadata.setdefault("associations", {}).setdefault(kind, [])
            if resource.alternative_name not in [one.get("name") for one in known]:
                known.append({"kind": "Artifact", "name": resource.alternative_name, "localDir": resource.local})
                if self._folder is not None:
                    self._write_metadata()

    # internal: used by create_run and load_run

    def begin(self, folder: Path) -> None:
        """Write the files, capture output, and register the end of the run at exit."""
        from danlu.track import output

        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        files.settle_metrics(folder)
        files.write_index(folder, list(self._metrics))
        files.write(folder / files.PLATFORM, self._platform)
        files.write(folder / files.GIT, self._git)
        self._write_hparams(self.hparams.as_dict())
        self._write_metadata()
        self._printed = os.open(folder / files.STDOUT, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        output.listen(self._print)
        atexit.register(self._end, "Error")

    def keep_uploading(self, folder: str, make_folder: bool, conflict_strategy: str) -> None:
        """Upload now, then every few seconds, and at the end. A run that was skipped is not uploaded later either."""
        self.upload(folder, make_folder, conflict_strategy)

        def go_on() -> None:
            while not self._is_over.wait(UPLOAD_SECONDS):
                self._upload_quietly()

        self._chosen = (folder, make_folder, conflict_strategy)
        self._uploader = threading.Thread(target=go_on, name="em-upload", daemon=True)
        self._uploader.start()

    def _upload_quietly(self) -> None:
        """Log errors of an upload instead of raising: they must not stop the training."""
        import logging

        try:
            self.upload(*self._chosen)
        except Exception as error:
            logging.getLogger("t9k.em").warning("t9k.em: %s was not uploaded: %s", self.name, error)

    def _end(self, status: str) -> None:
        from danlu.track import output

        if self._is_over.is_set():
            return
        self._is_over.set()
        atexit.unregister(self._end)
        output.stop(self._print)
        with self._lock:
            if self._printed is not None:
                os.close(self._printed)
                self._printed = None
        self._metadata.update(status=status, endTimestamp=files.now())
        self._write_metadata()
        if self._uploader is not None:
            self._uploader.join()
            self._upload_quietly()

    def _print(self, stream: int, text: str) -> None:
        printed = self._printed
        if stream == 1 and printed is not None:
            try:
                os.write(printed, text.encode("utf-8", "backslashreplace"))
            except OSError:
                return  # on a full disk the copy is lost, not the output itself

    def _as_it_is(self) -> files.Loaded:
        """Return the content of the files from memory."""
        with self._lock:
            metrics = {type: list(records) for type, records in self._metrics.items()}
            return files.Loaded(dict(self._metadata), plain(self.hparams.as_dict()), metrics, self._platform, self._git)

    def _write_hparams(self, values: dict[str, Any]) -> None:
        if self._folder is not None:
            files.write(self._folder / files.HPARAMS, values)

    def _write_metadata(self) -> None:
        assert self._folder is not None
        files.write(self._folder / files.METADATA, self._metadata)
