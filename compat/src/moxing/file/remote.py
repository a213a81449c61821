"""Which paths are in the store, and whose identity is used there: the job's inside of a job, else `danlu login`'s."""

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
"""An empty object of this name stands for an empty folder: keys of the store do not end in `/`."""

_SCHEME = re.compile(r"^(obs|s3|store):/+", re.IGNORECASE)
_lock = threading.Lock()
_made: dict[int, Client] = {}


def is_remote(path: object) -> bool:
    return isinstance(path, str) and _SCHEME.match(path) is not None


def store_path(path: str) -> str:
    """`obs://bucket/folder/x` as a path of the store. Doubled slashes, which scripts make by joining, count once."""
    bucket, _, key = _SCHEME.sub("", path).partition("/")
    return f"store://{bucket}/{re.sub('/+', '/', key).lstrip('/')}"


def folder_path(path: str) -> str:
    found = store_path(path)
    return found if found.endswith("/") else f"{found}/"


def client() -> Client:
    """One client for each process: connections do not survive a fork."""
    from danlu.client import Client

    with _lock:
        if os.getpid() not in _made:
            _made.clear()
            _made[os.getpid()] = Client()
        return _made[os.getpid()]


def use(own: Optional[Client]) -> None:
    """Have a client of one's own used in this process; None: what is found by itself."""
    with _lock:
        _made.clear()
        if own is not None:
            _made[os.getpid()] = own


def translated(function: F) -> F:
    """The function, with Danlu's errors as those of files."""

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
