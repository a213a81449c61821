"""Server and credentials to use, and conversion of Danlu's errors to the one that scripts for tikit catch."""

from __future__ import annotations

import functools
import os
import uuid
import warnings
import weakref
from typing import Any, Callable, Optional, TypeVar, cast

from danlu.client import Client as DanluClient
from danlu.errors import (
    AlreadyExists,
    Conflict,
    DanluError,
    InvalidInput,
    NotAllowed,
    NotFound,
    NotSignedIn,
    ServerUnreachable,
    StorageFull,
    TooManyRequests,
    Unsupported,
    WrongState,
)
from danlu.inside import inside_job
from tikit.tencentcloud.common.exception.tencent_cloud_sdk_exception import TencentCloudSDKException

F = TypeVar("F", bound=Callable[..., Any])
S = TypeVar("S", bound="Session")

CODES: dict[type[DanluError], str] = {
    NotSignedIn: "AuthFailure",
    NotAllowed: "UnauthorizedOperation",
    NotFound: "ResourceNotFound",
    AlreadyExists: "FailedOperation.DuplicateName",
    WrongState: "FailedOperation.NotAllow",
    Conflict: "FailedOperation",
    InvalidInput: "InvalidParameterValue",
    TooManyRequests: "RequestLimitExceeded",
    ServerUnreachable: "ClientNetworkError",
    StorageFull: "ResourceInsufficient",
    Unsupported: "UnsupportedOperation",
}
"""The first matching class counts."""

KEY_PREFIX = "dk-"


class Session:
    """Base of all parts of the client: a Danlu client with the right identity, and the region."""

    def __init__(
        self,
        secret_id: Optional[str] = None,
        secret_key: Optional[str] = None,
        region: Optional[str] = None,
        token: Optional[str] = None,
        proxies: Optional[dict[str, str]] = None,
        tione_endpoint: Optional[str] = None,
    ) -> None:
        """Inside a job the job's identity is used and these arguments are ignored. Elsewhere, a Danlu key given as two
        halves (`dk-...` and the part after the dot), else the login of `danlu login`. `tione_endpoint` is the address
        of the server if it begins with http; `region` and `token` are stored but not needed."""
        self._secret_id, self._secret_key, self._token = secret_id, secret_key, token
        self._region = region or os.environ.get("REGION") or ""
        if proxies:
            warnings.warn("tikit: proxies is not used; set HTTP_PROXY and HTTPS_PROXY", stacklevel=3)
        url = tione_endpoint if tione_endpoint and tione_endpoint.startswith(("http://", "https://")) else None
        if inside_job() is not None:
            url, key = None, None
        else:
            key = _key(secret_id, secret_key)
        self._danlu = translated(DanluClient)(url=url, api_key=key)
        weakref.finalize(self, self._danlu.close)  # the original has no close method

    @classmethod
    def of(cls: type[S], danlu: DanluClient, region: str) -> S:
        """Create one that uses this client, also inside a job. The caller closes the client."""
        made = cls.__new__(cls)
        made._secret_id = made._secret_key = made._token = None
        made._region, made._danlu = region, danlu
        return made


def _key(secret_id: Optional[str], secret_key: Optional[str]) -> Optional[str]:
    """Join a pair to a Danlu key; None for placeholders and for keys of the original platform."""
    if secret_key and secret_key.startswith(KEY_PREFIX) and "." in secret_key:
        return secret_key
    if secret_id and secret_key and secret_id.startswith(KEY_PREFIX):
        return f"{secret_id}.{secret_key}"
    return None


def translated(function: F) -> F:
    """Wrap a function: Danlu's errors become TencentCloudSDKException."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except DanluError as error:
            code = next((code for kind, code in CODES.items() if isinstance(error, kind)), "InternalError")
            raise TencentCloudSDKException(code, error.message, request_id()) from error

    return cast("F", call)


def refuse(message: str, code: Optional[str] = None) -> TencentCloudSDKException:
    """Return an error detected before any request was sent."""
    return TencentCloudSDKException(code, message)


def request_id() -> str:
    return str(uuid.uuid4())
