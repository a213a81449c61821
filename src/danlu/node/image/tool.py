"""Pull and export images with docker or podman."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Optional

from danlu.node.image.unpack import NotUnpacked, room_bytes, unpack

BUILT_IN = "danlu"
"""In place of their path when neither works: Danlu pulls images itself (`registry.py`)."""

ANSWER_SECONDS, PULL_SECONDS = 300.0, 6 * 3600.0
PASSED_ON = (
    *("HOME", "XDG_RUNTIME_DIR", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "CONTAINERS_STORAGE_CONF", "DOCKER_HOST"),
    *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"),
)
"""Variables of the server by which these programs find their own files and a proxy."""

DOCKER_HUB = ("https://index.docker.io/v1/", "docker.io")
_UNKNOWN = ("not found", "manifest unknown", "no such image", "does not exist", "name unknown")
_REFUSED = ("unauthorized", "denied", "authentication required", "incorrect username or password")


class ImageProblem(Exception):
    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Tool:
    """docker or podman, as far as their command lines agree."""

    def __init__(
        self, program: Sequence[str], name: str, *, env: Mapping[str, str], username: str, password: str
    ) -> None:
        """`program`: its path, followed by options for every call."""
        self._program = program
        self._env = {**os.environ, **env}
        self._name = name
        self._username = username
        self._password = password

    def find(self) -> Optional[str]:
        """Return the id of the image if this machine has it."""
        done = self._run("image", "inspect", "--format", "{{.Id}}", self._name)
        return done.stdout.decode().strip().rpartition(":")[2] if done.returncode == 0 else None

    def pull(self) -> None:
        with self._login() as words:
            done = self._run(*words, self._name, seconds=PULL_SECONDS)
        if done.returncode == 0:
            return
        told = done.stderr.decode(errors="replace").strip().splitlines()
        last = told[-1] if told else f"it ended with {done.returncode}"
        everything = "\n".join(told).lower()
        is_users = any(word in everything for word in (*_UNKNOWN, *_REFUSED))
        problem = f"{self._name} cannot be fetched: {last[:500]}"
        raise ImageProblem("image_missing" if is_users else "image_failed", problem)

    def unpack(self, root: str) -> dict[str, str]:
        """Write all files of the image to a folder. Return the variables that it sets."""
        config = json.loads(self._must("image", "inspect", "--format", "{{json .Config}}", self._name))
        container = self._must("create", self._name, "/never-started").strip().splitlines()[-1]
        try:
            self._export(container, root)
        finally:
            self._run("rm", "--force", container)
        return variables_of(config)

    def _export(self, container: str, root: str) -> None:
        words = [*self._program, "export", container]
        with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=self._env) as export:
            assert export.stdout is not None
            try:
                unpack(export.stdout.fileno(), root, max_bytes=room_bytes(root))
            except BaseException:
                export.kill()
                raise
        if export.returncode != 0:
            raise NotUnpacked("the export was cut short")

    @contextlib.contextmanager
    def _login(self) -> Iterator[list[str]]:
        """Yield the arguments of `pull`, with a temporary file that holds the password."""
        if not self._username:
            yield ["pull"]
            return
        folder = tempfile.mkdtemp(prefix="danlu-login-")
        try:
            told = base64.b64encode(f"{self._username}:{self._password}".encode()).decode()
            path = os.path.join(folder, "config.json")
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                json.dump({"auths": {name: {"auth": told} for name in _registries(self._name)}}, file)
            is_docker = os.path.basename(self._program[0]) == "docker"
            yield ["--config", folder, "pull"] if is_docker else ["pull", "--authfile", path]
        finally:
            shutil.rmtree(folder)

    def _must(self, *words: str) -> str:
        done = self._run(*words)
        if done.returncode != 0:
            told = done.stderr.decode(errors="replace").strip()
            raise ImageProblem("image_failed", f"{words[0]} of {self._name}: {told[-500:]}")
        return done.stdout.decode()

    def _run(self, *words: str, seconds: float = ANSWER_SECONDS) -> subprocess.CompletedProcess[bytes]:
        argv = [*self._program, *words]
        try:
            return subprocess.run(
                argv, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=seconds, env=self._env
            )
        except subprocess.TimeoutExpired as error:
            told = (
                f"{os.path.basename(self._program[0])} did not answer within {seconds:.0f} s: {words[0]} {self._name}"
            )
            raise ImageProblem("image_failed", told) from error


def variables_of(config: Any) -> dict[str, str]:
    """Return the variables that an image's config sets."""
    found = config.get("Env") if isinstance(config, dict) else None
    return dict(line.split("=", 1) for line in found or () if isinstance(line, str) and "=" in line)


def storage_options(program: str) -> list[str]:
    """Options for a podman user without subordinate uids: let this user own all files of images."""
    if os.path.basename(program) != "podman" or os.geteuid() == 0:
        return []
    words = [
        program,
        "info",
        "--format",
        "{{.Store.GraphDriverName}}{{range .Host.IDMappings.UIDMap}} {{.Size}}{{end}}",
    ]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=ANSWER_SECONDS)
    driver, *sizes = done.stdout.decode(errors="replace").split() or [""]
    if done.returncode != 0 or sum(map(int, sizes)) > 1:
        return []
    return ["--storage-opt", f"{driver}.ignore_chown_errors=true"]


def _registries(name: str) -> tuple[str, ...]:
    """Return the registry of an image's name; Docker Hub for a name without a host."""
    first = name.partition("/")[0]
    is_host = "/" in name and ("." in first or ":" in first or first == "localhost")
    return (first,) if is_host else DOCKER_HUB
