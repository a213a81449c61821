"""`client.models`: register, list, compare, alias, download and delete models."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, List, Optional, Union  # noqa: UP035

from danlu.client.bodies import body
from danlu.client.files.paths import quote_part
from danlu.client.files.store import Listener, Store
from danlu.client.http import Http, Query
from danlu.client.pages import pages
from danlu.client.tracking.artifacts import Artifacts
from danlu.errors import InvalidInput
from danlu.spec.models import Named, is_version_id, parse_named
from danlu.wire.models import (
    ChangeModel,
    ChangeModelVersion,
    DeletedModel,
    ModelComparison,
    ModelOut,
    ModelVersionOut,
    RegisterModel,
    SetAlias,
)

COPY_SECONDS = 3600.0
"""Copying may take long; the server completes it after a timeout."""


class Models:
    """`mnist` is a model; `mnist:3`, `mnist:champion` and `mnist:latest` are versions; `vision/mnist` names the
    project."""

    def __init__(self, http: Http) -> None:
        self._http = http

    def register(
        self,
        name: str,
        *,
        job: Optional[str] = None,
        artifact: Optional[str] = None,
        path: Optional[str] = None,
        copy: Optional[bool] = None,
        aliases: Sequence[str] = (),
        **more: Any,
    ) -> ModelVersionOut:
        """Register a new version from a job's output, an artifact or a path in the store.

            client.models.register("mnist", job=job.id, format="pytorch", aliases=["champion"])

        The server assigns the number. The version gets the metrics and hyperparameters of the job's runs, of the run
        that produced the artifact, or of `run`. Files are copied unless `copy=False`; those of an artifact are
        immutable, and are referenced unless `copy=True`.

        More: `project`, `folder` (which part of the job's output), `run`, `to` (folder for the copy), `format`,
        `framework`, `image`, `command` and `env` (for running it), `metrics` (in addition to those of the run),
        `description`, `tags`.
        """
        environment = {key: more.pop(key) for key in ("image", "command", "env") if more.get(key) is not None}
        wanted = body(
            RegisterModel,
            name=name,
            job=job,
            artifact=artifact,
            path=path,
            copy_files=copy,
            aliases=list(aliases),
            **{"request_id": uuid.uuid4().hex, "environment": environment or None, **more},
        )
        return self._http.post("/models", ModelVersionOut, body=wanted, is_repeatable=True, read_seconds=COPY_SECONDS)

    def list(
        self,
        name: str = "",
        *,
        project: Optional[str] = None,
        tags: Optional[Mapping[str, str]] = None,
        limit: Optional[int] = None,
    ) -> Iterator[ModelOut]:
        """Models whose name contains `name`, newest first; pages are fetched as needed."""
        query: Query = {
            "name": name,
            "project": project,
            "tag": [f"{key}={value}" for key, value in (tags or {}).items()],
            "limit": min(limit, 1000) if limit is not None else None,
        }
        return islice(pages(self._http, "/models", ModelOut, query=query), limit)

    def get(self, model: str) -> ModelOut:
        """Return a model by its name. Raises NotFound."""
        named = _named(model)
        return self._http.get(_path(named), ModelOut, query={"project": named.project})

    def version(self, version: str) -> ModelVersionOut:
        """Return a version by `mnist:3`, `mnist:champion`, `mnist` (the newest one) or its id. Raises NotFound."""
        if is_version_id(version):
            return self._http.get(f"/model-versions/{version}", ModelVersionOut)
        named = _named(version)
        return self._http.get(_version_path(named), ModelVersionOut, query={"project": named.project})

    def versions(self, model: str) -> Iterator[ModelVersionOut]:
        """All versions of a model, newest first."""
        named = _named(model)
        return pages(self._http, f"{_path(named)}/versions", ModelVersionOut, query={"project": named.project})

    def compare(self, model: str, versions: Sequence[Union[int, str]] = ()) -> ModelComparison:
        """Compare versions of a model: facts, metrics, hyperparameters. By default the newest five."""
        named = _named(model)
        chosen = [str(one) for one in versions] or [str(one.version) for one in islice(self.versions(model), 5)]
        query: Query = {"project": named.project, "version": chosen}
        return self._http.get(f"{_path(named)}/compare", ModelComparison, query=query)

    def alias(self, version: str, alias: str) -> ModelVersionOut:
        """Move an alias to a version: `alias("mnist:3", "champion")`. Atomic."""
        named = _named(version)
        where = f"{_path(named)}/aliases/{quote_part(alias)}"
        wanted = body(SetAlias, version=named.version)
        answer = self._http.send("PUT", where, query={"project": named.project}, body=wanted)
        return ModelVersionOut.model_validate_json(answer.content)

    def remove_alias(self, model: str, alias: str) -> None:
        named = _named(model)
        self._http.send("DELETE", f"{_path(named)}/aliases/{quote_part(alias)}", query={"project": named.project})

    def change(
        self, model: str, *, description: Optional[str] = None, tags: Optional[Mapping[str, str]] = None
    ) -> ModelOut:
        """Change description or tags of a model; omitted ones stay."""
        named = _named(model)
        wanted = body(ChangeModel, description=description, tags=None if tags is None else dict(tags))
        answer = self._http.send("PATCH", _path(named), query={"project": named.project}, body=wanted)
        return ModelOut.model_validate_json(answer.content)

    def change_version(
        self,
        version: str,
        *,
        description: Optional[str] = None,
        tags: Optional[Mapping[str, str]] = None,
        format: Optional[str] = None,
        framework: Optional[str] = None,
        environment: Optional[Mapping[str, object]] = None,
    ) -> ModelVersionOut:
        """Change description, tags or the environment of a version; omitted ones stay."""
        named = _named(version)
        wanted = body(
            ChangeModelVersion,
            description=description,
            tags=None if tags is None else dict(tags),
            format=format,
            framework=framework,
            environment=None if environment is None else dict(environment),
        )
        answer = self._http.send("PATCH", _version_path(named), query={"project": named.project}, body=wanted)
        return ModelVersionOut.model_validate_json(answer.content)

    def download(
        self, version: str, local: Union[str, os.PathLike[str]] = ".", *, progress: Optional[Listener] = None
    ) -> List[Path]:  # noqa: UP006  `list` is the method here
        """Download the files of a version into a folder, verified by SHA-256; return them."""
        found = self.version(version)
        if found.path is None:
            assert found.artifact is not None  # files are at a path or in an artifact
            return Artifacts(self._http).download(found.artifact, local)
        folder = Path(local)
        folder.mkdir(parents=True, exist_ok=True)
        return Store(self._http).download(found.path, folder, progress=progress)

    def delete(self, model: str, *, files: bool = False) -> DeletedModel:
        """Delete a model with all its versions. Keeps the files; with `files`, those that versions own are deleted
        too."""
        named = _named(model)
        query: Query = {"project": named.project, "files": files}
        return self._http.delete(_path(named), DeletedModel, query=query)

    def delete_version(self, version: str, *, files: bool = False) -> DeletedModel:
        """Delete one version. Keeps its files; with `files`, they are deleted if the version owns them."""
        named = _named(version)
        query: Query = {"project": named.project, "files": files}
        return self._http.delete(_version_path(named), DeletedModel, query=query)


def _named(text: str) -> Named:
    try:
        return parse_named(text)
    except ValueError as error:
        raise InvalidInput(str(error), fields={"model": str(error)}) from error


def _path(named: Named) -> str:
    return f"/models/{quote_part(named.name)}"


def _version_path(named: Named) -> str:
    return f"{_path(named)}/versions/{quote_part(named.version)}"
