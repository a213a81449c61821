"""Paths of Ray on this machine that no job may see: sessions, sockets, tables of a head, keys and tokens.

They are taken from the variables and arguments of Ray's own processes. A head may have other paths than this process,
set in the shell that started it.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

VARIABLES = ("RAY_AUTH_TOKEN_PATH", "RAY_TLS_SERVER_KEY", "RAY_gcs_storage_path")
WORDS = ("--temp_dir=", "--session_dir=", "--session-dir=", "--raylet_socket_name=", "--store_socket_name=")
CONFIG = "--config_list="
DAEMONS = ("gcs_server", "raylet")
SERVICE_ACCOUNT = "/var/run/secrets"
"""Where Kubernetes mounts the token of a pod."""

VOLUME_MARK = "..data"
"""Present in folders that Kubernetes fills: their files are symlinks to new files after each change."""

SHARED = {"/", "/dev", "/dev/shm", "/etc", "/home", "/opt", "/root", "/run", "/srv", "/tmp", "/usr", "/var", "/var/lib",
          "/var/run", "/var/tmp"}  # fmt: skip
"""Folders that have other content too, and so are never hidden as a whole."""


def private_paths(session: str) -> tuple[Path, ...]:
    """`session`: folder of the Ray session that this process belongs to."""
    folder = os.path.dirname(session)
    found = [session, folder, os.path.expanduser("~/.ray"), SERVICE_ACCOUNT, *of_variables(os.environ)]
    for variables, words in _daemons():
        found += [*of_variables(variables), *of_words(words)]
    return tuple(Path(path) for path in dict.fromkeys(map(os.path.normpath, found)) if path not in SHARED)


def session_dir() -> str:
    """The folder of the session that this process is connected to."""
    import ray

    return str(ray._private.worker._global_node.get_session_dir_path())


def of_variables(variables: Mapping[str, str]) -> Iterator[str]:
    for name in VARIABLES:
        path = variables.get(name, "")
        if not os.path.isabs(path):
            continue
        yield path
        if os.path.lexists(os.path.join(os.path.dirname(path), VOLUME_MARK)):
            yield os.path.dirname(path)


def of_words(words: Sequence[str]) -> Iterator[str]:
    for word in words:
        for start in WORDS:
            if word.startswith(f"{start}/"):
                yield word.removeprefix(start)
        if word.startswith(CONFIG):
            yield from _of_config(word.removeprefix(CONFIG))


def _of_config(text: str) -> Iterator[str]:
    """Paths in the settings that Ray's daemons pass to each other."""
    try:
        config: dict[str, Any] = json.loads(base64.b64decode(text))
        spilling = json.loads(config.get("object_spilling_config") or "{}")
        folders = spilling.get("params", {}).get("directory_path", ())
        found = [config.get("gcs_storage_path"), *([folders] if isinstance(folders, str) else folders)]
    except (ValueError, AttributeError, TypeError):  # another version of Ray, with another format
        return
    yield from (path for path in found if isinstance(path, str) and os.path.isabs(path))


def _daemons() -> Iterable[tuple[dict[str, str], list[str]]]:
    """Variables and arguments of Ray's daemons on this machine, as far as this user may read them."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
            if os.path.basename(words[0]) not in DAEMONS:
                continue
            lines = (folder / "environ").read_bytes().decode(errors="replace").split("\0")
        except OSError:  # it has just ended, or belongs to another user
            continue
        yield dict(line.split("=", 1) for line in lines if "=" in line), words
