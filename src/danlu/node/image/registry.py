"""Pull images from their registry where neither podman nor docker can: a client of the OCI distribution API.

    <cache>/<digest of the name>.name  the id of the image that was last pulled by that name
    <cache>/<id>.layers/               pulled and not unpacked yet: image.json, and the layers by number

Every download is verified by its digest. Users choose the names, so only addresses that are allowed for inputs are
contacted (`Elsewhere`). A password is sent only to the registry and to the token service that it names, over TLS.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Callable, NamedTuple, Optional, TypeVar
from urllib.parse import urlencode, urlsplit

from danlu.node.image.tool import ImageProblem, variables_of
from danlu.node.image.unpack import NotUnpacked, room_bytes, unpack
from danlu.node.stage.elsewhere import Elsewhere, NotFetched
from danlu.node.task import TaskElsewhere
from danlu.transfer.errors import LocalProblem, Refused, ServerAway
from danlu.transfer.retrying import Retry

DOCKER_HUB = "registry-1.docker.io"
PATIENCE_SECONDS = 120.0
MAX_LAYERS = 500
_ACCEPT = ", ".join(
    f"application/vnd.{name}+json"
    for name in (
        *("oci.image.index.v1", "oci.image.manifest.v1"),
        *("docker.distribution.manifest.list.v2", "docker.distribution.manifest.v2"),
    )
)
_MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_PAIRS = re.compile(r'(\w+)="([^"]*)"')
_DESCRIPTION = "image.json"
_ZSTANDARD = b"\x28\xb5\x2f\xfd"
T = TypeVar("T")


class Name(NamedTuple):
    """The parts of an image's name."""

    host: str
    repository: str
    reference: str
    """A tag or a digest."""


class Registry:
    """Pulls and unpacks the image of one name."""

    def __init__(self, name: str, *, cache: str, allowed: TaskElsewhere, username: str, password: str) -> None:
        self._name = name
        self._cache = cache
        self._where = parse_name(name)
        self._login = (username, password)
        self._authorization = ""
        retry = Retry(PATIENCE_SECONDS, say=lambda line: print(line, flush=True, file=sys.stderr))
        at_most = allowed._replace(max_bytes=room_bytes(cache))
        self._elsewhere = Elsewhere(at_most, retry, secrets={}, signs_each=True)

    def find(self) -> Optional[str]:
        """Return the id of the image if this machine has its files."""
        try:
            with open(self._own_file()) as file:
                number = file.read()
        except FileNotFoundError:
            return None
        is_here = any(os.path.isdir(os.path.join(self._cache, name)) for name in (number, f"{number}.layers"))
        return number if number and is_here else None

    def pull(self) -> None:
        """Download missing parts of the image. Raise ImageProblem."""
        try:
            self._pull()
        except NotFetched as error:
            refused = error.__cause__
            is_users = not isinstance(refused, Refused) or refused.status in (401, 403, 404)
            raise ImageProblem(
                "image_missing" if is_users else "image_failed", f"{self._name} cannot be fetched: {error}"
            ) from error
        except ServerAway as error:
            raise ImageProblem("image_failed", f"{self._name} cannot be fetched: {error}") from error
        except LocalProblem as error:
            reason = "disk_full" if error.is_disk_full else "image_failed"
            raise ImageProblem(reason, f"{self._name} cannot be fetched: {error}") from error

    def unpack(self, root: str) -> dict[str, str]:
        """Unpack all layers into a folder, one over the other. Return the variables that the image sets."""
        folder = os.path.join(self._cache, f"{self.find()}.layers")
        try:
            with open(os.path.join(folder, _DESCRIPTION)) as file:
                described = json.load(file)
            for number in range(described["num_layers"]):
                with _opened(os.path.join(folder, str(number))) as source:
                    unpack(source, root, max_bytes=room_bytes(root))
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return variables_of(described["config"])

    def _pull(self) -> None:
        manifest = self._manifest()
        (config,), layers = _objects([manifest.get("config")]), _objects(manifest.get("layers"))
        # not the digest of the config alone: anyone can make an image with the config of another one
        digests = "\n".join(map(_digest_of, (config, *layers)))
        number = hashlib.sha256(digests.encode()).hexdigest()
        if not os.path.isdir(os.path.join(self._cache, number)):
            self._fetch(number, config, layers)
        fresh = f"{self._own_file()}.new"
        with open(fresh, "w") as file:
            file.write(number)
        os.replace(fresh, self._own_file())

    def _fetch(self, number: str, config: Mapping[str, Any], layers: Sequence[Mapping[str, Any]]) -> None:
        fresh = f"{self._own_file()}.layers"
        shutil.rmtree(fresh, ignore_errors=True)  # left by a process that was killed; we hold the lock of this name
        os.mkdir(fresh, 0o700)
        if sum(one["size"] for one in layers if isinstance(one.get("size"), int)) > room_bytes(fresh):
            raise ImageProblem("disk_full", f"{self._name} cannot be fetched: there is no room for its layers")
        for place, layer in enumerate(layers):
            to = os.path.join(fresh, str(place))
            self._asked(partial(self._fetch_layer, _digest_of(layer), to))
            if os.path.getsize(to) != layer.get("size"):
                raise NotFetched(f"a layer has {os.path.getsize(to)} bytes and not {str(layer.get('size'))[:30]}")
        described = self._read_json("blobs", _digest_of(config))
        with open(os.path.join(fresh, _DESCRIPTION), "w") as file:
            json.dump({"config": described.get("config"), "num_layers": len(layers)}, file)
        try:
            os.rename(fresh, os.path.join(self._cache, f"{number}.layers"))
        except OSError:  # it was pulled under another name meanwhile
            shutil.rmtree(fresh, ignore_errors=True)

    def _fetch_layer(self, digest: str, to: str) -> None:
        self._elsewhere.fetch_file(self._url("blobs", digest), to, sha256=digest.partition(":")[2], sign=self._sign)

    def _manifest(self) -> dict[str, Any]:
        """Return the manifest of the image for this machine's architecture."""
        found = self._read_json("manifests", self._where.reference)
        if "manifests" not in found:
            return found
        machine = _MACHINES.get(platform.machine(), platform.machine())
        for one in _objects(found["manifests"]):
            told = one.get("platform")
            if isinstance(told, dict) and (told.get("os"), told.get("architecture")) == ("linux", machine):
                return self._read_json("manifests", _digest_of(one))
        raise NotFetched(f"it is not available for {machine}")

    def _read_json(self, kind: str, reference: str) -> dict[str, Any]:
        url = self._url(kind, reference)
        data = self._asked(lambda: self._elsewhere.read(url, sign=self._sign))
        if _DIGEST.fullmatch(reference) and hashlib.sha256(data).hexdigest() != reference.partition(":")[2]:
            raise NotFetched(f"{url}: what arrived has another digest")
        try:
            found = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise NotFetched(f"{url}: expected JSON") from error
        if not isinstance(found, dict):
            raise NotFetched(f"{url}: expected a JSON object")
        return found

    def _asked(self, ask: Callable[[], T]) -> T:
        """Send a request. If the registry asks for (new) credentials, authorize and send it once more."""
        try:
            return ask()
        except NotFetched as error:
            refused = error.__cause__
            if not isinstance(refused, Refused) or refused.status != 401:
                raise
            self._authorization = self._authorize(str(refused.fields.get("challenge")))
        return ask()

    def _authorize(self, challenge: str) -> str:
        """Return the Authorization header that the registry asks for."""
        kind, _, rest = challenge.partition(" ")
        username, password = self._login
        basic = "Basic " + base64.b64encode(f"{username}:{password}".encode()).decode() if username else ""
        if kind.lower() == "basic":
            return basic
        told = dict(_PAIRS.findall(rest))
        if kind.lower() != "bearer" or not told.get("realm", "").startswith("https://"):
            raise NotFetched(f"{self._where.host}: expected an authentication, got {challenge[:200]!r}")
        scope = told.get("scope") or f"repository:{self._where.repository}:pull"
        url = f"{told['realm']}?{urlencode({'service': told.get('service', ''), 'scope': scope})}"
        realm = urlsplit(url).netloc

        def sign(address: str, headers: Mapping[str, str]) -> Mapping[str, str]:
            return {**headers, "Authorization": basic} if basic and urlsplit(address).netloc == realm else headers

        try:
            found = json.loads(self._elsewhere.read(url, sign=sign))
            return f"Bearer {found.get('token') or found['access_token']}"
        except (ValueError, KeyError, AttributeError) as error:
            raise NotFetched(f"{realm}: expected a token") from error

    def _sign(self, address: str, headers: Mapping[str, str]) -> Mapping[str, str]:
        """Send credentials to the registry only: it may redirect downloads to other hosts."""
        if urlsplit(address).netloc != self._where.host or not self._authorization:
            return {**headers, "Accept": _ACCEPT}
        return {**headers, "Accept": _ACCEPT, "Authorization": self._authorization}

    def _url(self, kind: str, reference: str) -> str:
        return f"https://{self._where.host}/v2/{self._where.repository}/{kind}/{reference}"

    def _own_file(self) -> str:
        return os.path.join(self._cache, hashlib.sha256(self._name.encode()).hexdigest() + ".name")


def parse_name(name: str) -> Name:
    """Split into host, repository and reference; without a host, Docker Hub is meant."""
    name, at, digest = name.partition("@")
    first, slash, rest = name.partition("/")
    is_host = slash and ("." in first or ":" in first or first == "localhost")
    host, path = (first, rest) if is_host else (DOCKER_HUB, name)
    path, _, tag = path.partition(":")
    if not is_host and "/" not in path:
        path = f"library/{path}"
    return Name(host, path, digest if at else tag or "latest")


@contextlib.contextmanager
def _opened(path: str) -> Iterator[int]:
    """Open a layer for reading. The zstd program unpacks Zstandard; tarfile supports the other formats."""
    with open(path, "rb") as file:
        if file.read(len(_ZSTANDARD)) != _ZSTANDARD:
            os.lseek(file.fileno(), 0, os.SEEK_SET)
            yield file.fileno()
            return
    program = shutil.which("zstd")
    if program is None:
        raise NotUnpacked("its layers are compressed by Zstandard; install zstd, podman or docker on the node")
    with subprocess.Popen([program, "-dc", path], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.fileno()
        finally:
            process.kill()


def _objects(value: object) -> list[dict[str, Any]]:
    if not isinstance(value, list) or len(value) > MAX_LAYERS or not all(isinstance(one, dict) for one in value):
        raise NotFetched(f"invalid manifest: expected at most {MAX_LAYERS} objects")
    return value


def _digest_of(value: Mapping[str, Any]) -> str:
    digest = value.get("digest")
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
        raise NotFetched(f"expected a SHA-256 digest, got {str(digest)[:100]!r}")
    return digest
