"""Which paths are in the store, and the identity to use there: the job's inside a job, else that of `danlu login`."""

from __future__ import annotations

import functools
import os
import re
import threading
from typing import TYPE_CHECKING, Any, Callable, Optional, TypeVar, Union, cast

if TYPE_CHECKING:
    from danlu.client import Client

F = TypeVar("F", bound=Callable[..., Any])
PathText = Union[str, "os.PathLike[str]"]
MARKER = ".keep"
"""Name of an empty object that represents an empty folder: store keys cannot end in `/`."""

_SCHEME = re.compile(r"^(obs|s3|store):/+", re.IGNORECASE)
_lock = threading.Lock()
_made: dict[int, Client] = {}


def is_remote(path: object) -> bool:
    return isinstance(path, str) and _SCHEME.match(path) is not None


def store_path(path: str) -> str:
    """Convert `obs://bucket/folder/x` to a store path. Doubled slashes, common in joined paths, count as one."""
    bucket, _, key = _SCHEME.sub("", path).partition("/")
    return f"store://{bucket}/{re.sub('/+', '/', key).lstrip('/')}"


def folder_path(path: str) -> str:
    found = store_path(path)
    return found if found.endswith("/") else f"{found}/"


def client() -> Client:
    """Return this process's client; connections do not survive a fork."""
    from danlu.client import Client

    with _lock:
        if os.getpid() not in _made:
            _made.clear()
            _made[os.getpid()] = Client()
        return _made[os.getpid()]


def use(own: Optional[Client]) -> None:
    """Use this client in this process; None: create one from the environment again."""
    with _lock:
        _made.clear()
        if own is not None:
            _made[os.getpid()] = own


def translated(function: F) -> F:
    """Wrap a function: Danlu's errors become those of files."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        from danlu.errors import DanluError, NotAllowed, NotFound, NotSignedIn

        try:
            return function(*args, **kwargs)
        except NotFound as error:
            raise FileNotFoundError(error.message) from error
        except (NotAllowed, NotSignedIn) as error:
            raise PermissionError(error.message) from error
        except DanluError as error:
            raise OSError(error.message) from error

    return cast("F", call)
