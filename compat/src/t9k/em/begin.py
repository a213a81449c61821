"""`create_run` and `load_run`."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Optional

from t9k.em import files
from t9k.em.errors import NotARun
from t9k.em.run import Run

CONFIG_KEYS = {
    "name",
    "hparams",
    "labels",
    "description",
    "auto_upload",
    "folder",
    "make_folder",
    "conflict_strategy",
}
KNOWN_PACKAGES = ("tensorflow", "keras", "torch", "lightning", "transformers", "sklearn", "xgboost", "numpy", "pandas")


def create_run(  # noqa: PLR0913, PLR0917
    config_path: Optional[str] = None,
    name: str = "default",
    hparams: Optional[Mapping[str, Any]] = None,
    labels: Optional[Sequence[str]] = None,
    description: str = "",
    auto_upload: bool = False,
    folder: str = "default",
    make_folder: bool = False,
    conflict_strategy: str = "new",
) -> Run:
    """Start a run in `.em/runs`. Like in the original, values in the file at `config_path` override arguments."""
    given: dict[str, Any] = {
        "name": name,
        "hparams": hparams,
        "labels": labels,
        "description": description,
        "auto_upload": auto_upload,
        "folder": folder,
        "make_folder": make_folder,
        "conflict_strategy": conflict_strategy,
    }
    values = {**given, **_from_file(config_path)}
    files.check_name(values["name"])
    own = files.alternative_name(values["name"])
    metadata = {
        "kind": "Run",
        "name": values["name"],
        "labels": list(values["labels"]) if isinstance(values["labels"], Sequence) else [],
        "description": str(values["description"]),
        "startTimestamp": files.now(),
        "endTimestamp": None,
        "status": "Running",
        "alternativeName": own,
        "associations": {"input": [], "output": []},
        "remote": [],
    }
    run = Run(metadata, values["hparams"], platform=_platform(), git=_git())
    run.begin(files.runs_folder() / own)
    if values["auto_upload"]:
        run.keep_uploading(values["folder"], values["make_folder"], values["conflict_strategy"])
    return run


def load_run(
    path: str,
    auto_upload: bool = False,
    folder: str = "default",
    make_folder: bool = False,
    conflict_strategy: str = "new",
) -> Run:
    """Continue a local run, or else the newest `/<user>/<folder>/<name>` on the server of `login`. Its status becomes
    `Running` again, and an upload continues the same run."""
    place = Path(path)
    if not place.is_dir():
        place = files.runs_folder() / path
    if not place.is_dir():
        from t9k.em.download_run import download_run

        place = download_run(path)
    found = files.load(place)
    if found.metadata.get("kind") != "Run":
        raise NotARun(f"Not a Run: '{path}'")
    metadata = {**found.metadata, "status": "Running", "endTimestamp": None}
    run = Run(metadata, found.hparams, found.metrics, found.platform, found.git)
    run.begin(place)
    if auto_upload:
        run.keep_uploading(folder, make_folder, conflict_strategy)
    return run


def _from_file(path: Optional[str]) -> dict[str, Any]:
    if path is None:
        return {}
    values = files.read(Path(path)) or {}
    unknown = sorted(set(values) - CONFIG_KEYS)
    if unknown:
        raise ValueError(f"{path}: no setting {unknown[0]!r}; known: {', '.join(sorted(CONFIG_KEYS))}")
    return dict(values)


def _platform() -> dict[str, Any]:
    loaded = {
        name: str(getattr(sys.modules[name], "__version__", "")) for name in KNOWN_PACKAGES if name in sys.modules
    }
    frameworks = [name for name in ("tensorflow", "torch") if name in loaded]
    return {
        "hostname": platform.node(),
        "os": platform.platform(),
        "python": platform.python_version(),
        "pypkgs": loaded,
        "framework": ",".join(frameworks),
    }


def _git() -> dict[str, Any]:
    from danlu.track.capture import git

    found = git(os.getcwd())
    return {
        "repo_path": found.get("root") or None,
        "remote_url": found.get("remote") or None,
        "branch": found.get("branch") or None,
        "commit": found.get("commit") or None,
        "is_dirty": found.get("is_dirty"),
        "entrypoint": sys.argv[0] or None,
    }
