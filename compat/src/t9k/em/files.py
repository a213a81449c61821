"""The old layout of a run on disk. For artifacts see `artifact`.

.em/runs/mnist_torch_231222_141932_61p5jc/
  metadata.yaml  index.yaml  hyperparameters.yaml  platform.yaml  git.yaml  stdout.log
  metrics/<type>.yaml      a YAML list, appended to
"""

from __future__ import annotations

import hashlib
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

from t9k.em import plain_yaml

NAME = re.compile(r"^[a-zA-Z0-9][a-zA-Z0-9_-]{0,38}[a-zA-Z0-9]$|^[a-zA-Z0-9]$")
MAX_NAME_BYTES = 200
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
    """The content of a run's files."""

    metadata: dict[str, Any]
    hparams: dict[str, Any]
    metrics: dict[str, list[dict[str, Any]]]
    platform: dict[str, Any]
    git: dict[str, Any]
    problems: tuple[str, ...] = ()
    """Parts that could not be read."""


class Unreadable(RuntimeError):
    """A file that is not YAML, or has unexpected content."""


def runs_folder() -> Path:
    """The folder for runs; read when needed, not on import as in the original."""
    return Path(os.environ.get("EM_RUN_PARENT_DIR") or os.path.join(".em", "runs"))


def artifacts_folder() -> Path:
    return Path(os.environ.get("EM_ARTIFACT_PARENT_DIR") or os.path.join(".em", "artifacts"))


def is_sequence(value: Any) -> bool:
    """Includes strings, as in the original: labels="ab" are the labels a and b."""
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
    """Write a file atomically."""
    descriptor, partial = tempfile.mkstemp(dir=path.parent, prefix=".partial.")
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(plain_yaml.dump(value))
    os.chmod(partial, 0o644)
    os.replace(partial, path)


def read(path: Path) -> Any:
    """Read a file. Raises Unreadable with its name."""
    try:
        return plain_yaml.load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError, ValueError, RecursionError) as error:
        raise Unreadable(f"{path} cannot be read: {' '.join(str(error).split())[:300]}") from error


def metrics_path(type: str) -> str:
    """Return the path of a metric type's file in the run's folder: the type itself, as in the original, if possible.

    Characters that could lead out of the folder are percent-encoded. Different types have different files.
    """
    name = re.sub(r"[/%\\\x00-\x1f]|^\.", lambda found: f"%{ord(found.group()):02X}", type) or "%"
    if len(name.encode("utf-8", "surrogatepass")) > MAX_NAME_BYTES:
        name = f"{name[:40]}%{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"
    return f"metrics/{name}.yaml"


def append_metrics(folder: Path, type: str, record: dict[str, Any]) -> None:
    path = folder / metrics_path(type)
    path.parent.mkdir(exist_ok=True)
    with path.open("a", encoding="utf-8", errors="backslashreplace") as file:
        file.write(plain_yaml.dump([record]))


def settle_metrics(folder: Path) -> None:
    """Create the folder for metrics, and rename files to the names that this version uses."""
    (folder / "metrics").mkdir(exist_ok=True)
    if not (folder / INDEX).exists():
        return
    for type, path in ((read(folder / INDEX) or {}).get("metrics") or {}).items():
        old, new = folder / str(path), folder / metrics_path(str(type))
        if old != new and old.is_file() and not new.exists():
            old.rename(new)


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
    """Read a run. Raises FileNotFoundError with the name of a missing file, and Unreadable."""
    index = read(folder / INDEX) or {}
    metrics, problems = _metrics(folder, index.get("metrics") or {})
    return Loaded(
        read(folder / METADATA) or {},
        read(folder / str(index.get("hyperparameters") or HPARAMS)) or {},
        metrics,
        _optional(folder / str(index.get("platform") or PLATFORM)),
        _optional(folder / str(index.get("git") or GIT)),
        tuple(problems),
    )


def own_file(folder: Path, name: str) -> Path:
    """Return a regular file of a run's folder. Raises Unreadable for others: a link may lead to any file of this
    machine, and reading a pipe never ends."""
    from danlu.importing.files import inside

    found = inside(folder, name)
    if found is None:
        raise Unreadable(f"{folder / name} is not in the run's folder, or no regular file")
    return found


def load_what_there_is(folder: Path) -> Loaded:
    """Read a run as far as possible; `problems` lists the rest. Raises Unreadable if its metadata cannot be read."""
    metadata = read(own_file(folder, METADATA))
    if not isinstance(metadata, dict) or not metadata.get("name") or not metadata.get("alternativeName"):
        raise Unreadable(f"{folder / METADATA} has no name; it cannot be imported")
    problems: list[str] = []

    def part(name: str) -> dict[str, Any]:
        try:
            found = read(own_file(folder, name))
        except (Unreadable, OSError) as error:
            problems.append(str(error))
            return {}
        if found is not None and not isinstance(found, dict):
            problems.append(f"{folder / name} is no mapping")
        return found if isinstance(found, dict) else {}

    index = part(INDEX)
    listed = index.get("metrics") if isinstance(index.get("metrics"), dict) else None
    if listed is None:  # use the files even without a list
        listed = {path.stem: f"metrics/{path.name}" for path in sorted((folder / "metrics").glob("*.yaml"))}
    metrics, lost = _metrics(folder, listed)
    hparams, platform, git = (part(name) for name in (HPARAMS, PLATFORM, GIT))
    return Loaded(metadata, hparams, metrics, platform, git, (*problems, *lost))


def _metrics(folder: Path, listed: dict[Any, Any]) -> tuple[dict[str, list[dict[str, Any]]], list[str]]:
    """Return the records by type, and the problems."""
    found: dict[str, list[dict[str, Any]]] = {}
    problems = []
    for type, path in listed.items():
        place = folder / str(path)
        if not os.path.lexists(place):
            continue
        try:
            text = own_file(folder, str(path)).read_text(encoding="utf-8", errors="replace")
            records = plain_yaml.load_records(text)
        except (Unreadable, OSError) as error:
            problems.append(str(error))
            continue
        found[str(type)] = records.found
        if records.num_lost:
            problems.append(f"{place}: {records.num_lost} of its records cannot be read")
    return found, problems


def find(path: Path, kind: str = "Run") -> list[Path]:
    """Return the runs or artifacts at a path: itself, those directly in it, or in its folder `runs` or `artifacts`."""
    if is_kept(path, kind):
        return [path]
    if not path.is_dir():
        return []
    folders = [path, path / f"{kind.lower()}s"]
    return sorted(one for folder in folders if folder.is_dir() for one in folder.iterdir() if is_kept(one, kind))


def is_kept(path: Path, kind: str) -> bool:
    """Whether this is a run or artifact. If its metadata do not say that, judge by its location, so that the error is
    reported."""
    if not FOLDER.search(path.absolute().name) or not os.path.lexists(path / METADATA):
        return False
    try:
        found = read(own_file(path, METADATA))
    except (Unreadable, OSError):
        found = None
    if isinstance(found, dict) and found.get("kind") in ("Run", "Artifact"):
        return bool(found["kind"] == kind)
    return ((path / INDEX).exists() or path.absolute().parent.name == "runs") == (kind == "Run")


def notes(metadata: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the entries of `remote`: where a run or artifact was uploaded to, or fetched from."""
    return mappings_in(metadata.get("remote"))


def mappings_in(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def moment(value: Any) -> Optional[datetime]:
    """Parse a time in a file: a string, or a datetime made by YAML."""
    if not value:
        return None
    try:
        found = value if isinstance(value, datetime) else datetime.fromisoformat(str(value).replace("Z", "+00:00"))
        return found.astimezone()
    except (ValueError, OverflowError):  # also for the first and the last year, in some time zones
        return None


def _optional(path: Path) -> dict[str, Any]:
    return (read(path) or {}) if path.exists() else {}
