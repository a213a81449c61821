"""Which server and key to use: from arguments, environment, job, project file, user file or the default, in this order.

Inside a job nothing has to be configured: see `danlu.inside`.

The format of both files; `danlu login` writes that of the user:

    url: http://127.0.0.1:8400
    api_key: ...
    key_id: ...      # so that `danlu logout` can delete the key on the server
    code: .          # what `danlu run` sends when no --code is given
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Optional
from urllib.parse import urlsplit

from danlu.errors import InvalidInput
from danlu.inside import InsideJob, inside_job
from danlu.transfer.carrier import Credentials

DEFAULT_URL = "http://127.0.0.1:8400"
PROJECT_FILE = ".danlu.yml"
API_OF_A_JOB = "10.88.255.254"
"""Address of the server inside a job with a private network."""

KEY_PREFIX = "dk-"
_KNOWN = {"url", "api_key", "key_id", "code"}


class Settings(NamedTuple):
    url: str
    api_key: Optional[str]
    url_from: str
    """Where the URL was found, in words for users."""

    key_from: Optional[str]
    job: Optional[InsideJob] = None
    """The job whose credentials are used."""

    @property
    def credentials(self) -> Optional[Credentials]:
        """Credentials for requests. A job's token is read from its file for every request, because it can change."""
        return self.api_key if self.job is None else self.job.token


class _Source(NamedTuple):
    label: str
    url: Optional[str]
    api_key: Optional[str]
    is_file: bool
    job: Optional[InsideJob] = None


def load_settings(
    *,
    url: Optional[str] = None,
    api_key: Optional[str] = None,
    environ: Optional[Mapping[str, str]] = None,
    folder: Optional[Path] = None,
) -> Settings:
    """Find the server and the key. Raise InvalidInput when a file or an address is not valid.

    A key in a file is only sent to the URL in the same file: a project file from another source can name another
    server, but does not get the user's key for it. A job's token is only sent to its own server. Inside a job, a
    variable that is not an API key, such as a placeholder in an old script, is ignored.
    """
    env = os.environ if environ is None else environ
    job = inside_job(env)
    named = env.get("DANLU_API_KEY") or None
    if job is not None and named is not None and not named.startswith(KEY_PREFIX):
        named = None
    sources = [
        _Source("the argument", url, api_key, is_file=False),
        _Source("the environment", env.get("DANLU_URL") or None, named, is_file=False),
        *([_Source("the job's token file", job.url, job.token(), is_file=True, job=job)] if job is not None else []),
        _from_file((folder or Path.cwd()) / PROJECT_FILE),
        _from_file(user_file(env)),
    ]
    chosen = next((source for source in sources if source.url), _Source("the default", DEFAULT_URL, None, False))
    address = clean_url(str(chosen.url))
    for source in sources:
        if source.api_key and (not source.is_file or clean_url(source.url or DEFAULT_URL) == address):
            key = _clean_key(source.api_key, source.label)
            return Settings(address, key, chosen.label, source.label, source.job)
    return Settings(address, None, chosen.label, None)


def default_code(*, environ: Optional[Mapping[str, str]] = None, folder: Optional[Path] = None) -> Optional[str]:
    """Return the default code folder of `danlu run`: `code` in the project's or the user's file; often `.`.

    A project file may be untrusted, so it can only name a folder inside its own.
    """
    file = (folder or Path.cwd()) / PROJECT_FILE
    code = read_file(file).get("code")
    if code is not None and (code.startswith(("/", "~")) or ".." in Path(code).parts):
        raise InvalidInput(f"{file}: code: expected a folder in {file.parent}, got {code!r}")
    return code or read_file(user_file(environ)).get("code")


def user_file(environ: Optional[Mapping[str, str]] = None) -> Path:
    """Path of the user's file: `DANLU_CONFIG`, or `~/.danlu/config.yml`."""
    env = os.environ if environ is None else environ
    named = env.get("DANLU_CONFIG")
    return Path(named).expanduser() if named else Path("~/.danlu/config.yml").expanduser()


def read_file(path: Path) -> dict[str, str]:
    """Read the settings in a file; empty when it does not exist. Raise InvalidInput naming file and line."""
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} cannot be read: {error}") from error
    import yaml  # takes longer to load than most commands take, and many have no file to read

    try:
        values: Any = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f":{mark.line + 1}:{mark.column + 1}" if mark is not None else ""
        raise InvalidInput(f"{path}{place} is not valid YAML: {getattr(error, 'problem', error)}") from error
    if values is None:
        return {}
    if not isinstance(values, dict) or not all(isinstance(value, str) for value in values.values()):
        raise InvalidInput(f"{path} must contain lines such as `url: {DEFAULT_URL}`")
    unknown = sorted(str(name) for name in values if name not in _KNOWN)
    if unknown:
        raise InvalidInput(f"{path}: no setting {unknown[0]!r}; known: {', '.join(sorted(_KNOWN))}")
    return values


def save(path: Path, values: Mapping[str, str]) -> None:
    """Write a file that only its owner can read. Atomic."""
    import yaml

    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor, partial = tempfile.mkstemp(dir=path.parent, prefix=".partial.")  # mkstemp creates it with mode 0600
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            yaml.safe_dump(dict(values), file, sort_keys=False)
        os.replace(partial, path)
    except BaseException:
        os.unlink(partial)
        raise


def clean_url(url: str) -> str:
    """Return the base URL of a server. Raise InvalidInput when it is not valid."""
    try:
        parts = urlsplit(url.strip())
        is_right = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is not a number, or an unclosed bracket
        is_right = False
    if not is_right or not parts.netloc.isascii() or not parts.netloc.isprintable():
        raise InvalidInput(f"{url!r} is not the address of a server; expected {DEFAULT_URL}", fields={"url": url})
    path = parts.path.rstrip("/")
    if path.endswith("/api/v1"):
        path = path[: -len("/api/v1")]
    return f"{parts.scheme}://{parts.netloc}{path}"


def is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    is_own = host in ("localhost", "::1") or host.startswith("127.") or host.endswith(".localhost")
    return is_own or host == API_OF_A_JOB


def _clean_key(text: str, label: str) -> str:
    key = text.strip()
    if not key or not all("!" <= char <= "~" for char in key):
        raise InvalidInput(f"the API key from {label} has characters that no key has; `danlu login` creates a new one")
    return key


def _from_file(path: Path) -> _Source:
    values = read_file(path)
    return _Source(str(path), values.get("url"), values.get("api_key"), is_file=True)
