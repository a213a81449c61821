"""The old layout of a run on disk; that of an artifact is in `artifact`.

.em/runs/mnist_torch_231222_141932_61p5jc/
  metadata.yaml  index.yaml  hyperparameters.yaml  platform.yaml  git.yaml  stdout.log
  metrics/<type>.yaml      a YAML list, appended to
"""

from __future__ import annotations

import os
import random
import re
import string
import tempfile
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, Optional

import yaml

NAME = re.compile(r"^[a-zA-Z0-9][a-zA-Z0-9_-]{0,38}[a-zA-Z0-9]$|^[a-zA-Z0-9]$")
FOLDER = re.compile(r"_\d{6}_\d{6}_[a-z0-9]{6}$")
METADATA, INDEX, HPARAMS, PLATFORM, GIT, STDOUT = (
    "metadata.yaml",
    "index.yaml",
    "hyperparameters.yaml",
    "platform.yaml",
    "git.yaml",
    "stdout.log",
)


class Loaded(NamedTuple):
    """A run's files, read."""

    metadata: dict[str, Any]
    hparams: dict[str, Any]
    metrics: dict[str, list[dict[str, Any]]]
    platform: dict[str, Any]
    git: dict[str, Any]


def runs_folder() -> Path:
    """Where runs lie; read when it is needed, not at import as in the original."""
    return Path(os.environ.get("EM_RUN_PARENT_DIR") or os.path.join(".em", "runs"))


def artifacts_folder() -> Path:
    return Path(os.environ.get("EM_ARTIFACT_PARENT_DIR") or os.path.join(".em", "artifacts"))


def is_sequence(value: Any) -> bool:
    """A plain text is one too, as in the original: labels="ab" are the labels a and b."""
    return isinstance(value, Sequence)


def now() -> str:
    return datetime.now().astimezone().isoformat()


def alternative_name(name: str) -> str:
    tail = "".join(random.SystemRandom().choices(string.ascii_lowercase + string.digits, k=6))
    return f"{name}_{datetime.now():%y%m%d_%H%M%S}_{tail}"


def check_name(name: str, kind: str = "Run") -> None:
    if not isinstance(name, str) or not NAME.match(name):
        raise ValueError(f"Invalid name of {kind}: '{name}'")


def write(path: Path, value: Any) -> None:
    """Whole or not at all."""
    descriptor, partial = tempfile.mkstemp(dir=path.parent, prefix=".partial.")
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        yaml.safe_dump(value, file, sort_keys=False, allow_unicode=True)
    os.chmod(partial, 0o644)
    os.replace(partial, path)


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def metrics_path(type: str) -> str:
    """The file of a type, below the run's folder. What could lead out of it is replaced."""
    return f"metrics/{re.sub(r'[^0-9A-Za-z_.-]', '_', type).lstrip('.') or '_'}.yaml"


def append_metrics(folder: Path, type: str, record: dict[str, Any]) -> None:
    path = folder / metrics_path(type)
    path.parent.mkdir(exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(yaml.safe_dump([record], sort_keys=False, allow_unicode=True))


def write_index(folder: Path, types: list[str]) -> None:
    index = {
        "hyperparameters": HPARAMS,
        "metrics": {type: metrics_path(type) for type in types},
        "platform": PLATFORM,
        "git": GIT,
        "log": STDOUT,
    }
    write(folder / INDEX, index)


def load(folder: Path) -> Loaded:
    """Read a run. Raise FileNotFoundError naming the file that is missing."""
    index = read(folder / INDEX) or {}
    metrics = {
        str(type): read(folder / path) or []
        for type, path in (index.get("metrics") or {}).items()
        if (folder / path).exists()
    }
    return Loaded(
        read(folder / METADATA) or {},
        read(folder / str(index.get("hyperparameters") or HPARAMS)) or {},
        metrics,
        _optional(folder / str(index.get("platform") or PLATFORM)),
        _optional(folder / str(index.get("git") or GIT)),
    )


def find(path: Path, kind: str = "Run") -> list[Path]:
    """The runs, or the artifacts, at a path: itself, those directly in it, or in the folder for them of an `.em`."""
    if is_kept(path, kind):
        return [path]
    if not path.is_dir():
        return []
    folders = [path, path / f"{kind.lower()}s"]
    return sorted(one for folder in folders if folder.is_dir() for one in folder.iterdir() if is_kept(one, kind))


def is_kept(path: Path, kind: str) -> bool:
    if not FOLDER.search(path.absolute().name) or not (path / METADATA).is_file():
        return False
    return (read(path / METADATA) or {}).get("kind") == kind


def moment(value: Any) -> Optional[datetime]:
    """A time of a file: text, or what YAML made of it."""
    if isinstance(value, datetime):
        return value.astimezone()
    if not value:
        return None
    return datetime.fromisoformat(str(value).replace("Z", "+00:00")).astimezone()


def _optional(path: Path) -> dict[str, Any]:
    return (read(path) or {}) if path.exists() else {}
