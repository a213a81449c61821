"""Where an S3 service is, and how requests to it are signed (AWS Signature Version 4). Pure: the clock comes in."""

from __future__ import annotations

import hashlib
import hmac
import re
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from danlu.errors import InvalidInput

UNSIGNED = "UNSIGNED-PAYLOAD"
_ALGORITHM = "AWS4-HMAC-SHA256"
_URL = re.compile(r"s3://(?P<bucket>[a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:/(?P<prefix>.*))?")


@dataclass(frozen=True, slots=True)
class S3Place:
    """A bucket of a service, a folder in it, and the key pair to reach it with."""

    bucket: str
    prefix: str
    """Empty, or ends in `/`. All keys begin with it."""

    endpoint: str
    region: str
    access_key_id: str
    secret_access_key: str = field(repr=False)
    is_virtual_host: bool = False
    """Whether the bucket's name is in the host name and not in the path."""

    proxy: str = ""

    @property
    def bucket_url(self) -> str:
        """Without a slash at its end."""
        parts = urllib.parse.urlsplit(self.endpoint)
        if self.is_virtual_host:
            return f"{parts.scheme}://{self.bucket}.{parts.netloc}"
        return f"{parts.scheme}://{parts.netloc}/{self.bucket}"


def parse_s3_url(text: str) -> tuple[str, str]:
    """Read `s3://bucket/folder`; return the bucket and the prefix of all keys."""
    found = _URL.fullmatch(text)
    if found is None:
        told = f"{text!r} is not a place for objects; s3://BUCKET or s3://BUCKET/FOLDER would be right"
        raise InvalidInput(f"objects_url: {told}", fields={"objects_url": told})
    prefix = (found["prefix"] or "").strip("/")
    return found["bucket"], f"{prefix}/" if prefix else ""


@dataclass(frozen=True, slots=True)
class Signed:
    url: str
    headers: Mapping[str, str]


def sign(
    place: S3Place,
    method: str,
    key: str,
    *,
    at: datetime,
    query: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
    body: bytes = b"",
) -> Signed:
    """Sign a request of ours: the signature is in a header and covers the body."""
    digest = hashlib.sha256(body).hexdigest()
    url = _url(place, key)
    stamp = at.strftime("%Y%m%dT%H%M%SZ")
    sent = {"host": url.netloc, "x-amz-content-sha256": digest, "x-amz-date": stamp, **(headers or {})}
    names = ";".join(sorted(sent))
    signature = _signature(place, stamp, _canonical(method, url.path, query or {}, sent, digest))
    sent["authorization"] = (
        f"{_ALGORITHM} Credential={place.access_key_id}/{_scope(place, stamp)}, "
        f"SignedHeaders={names}, Signature={signature}"
    )
    return Signed(urllib.parse.urlunsplit(url._replace(query=_encoded(query or {}))), sent)


def presign(
    place: S3Place,
    method: str,
    key: str,
    *,
    at: datetime,
    seconds: int,
    query: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
) -> str:
    """Make a URL that lets whoever has it send this one request, with these headers, within the time."""
    url = _url(place, key)
    stamp = at.strftime("%Y%m%dT%H%M%SZ")
    sent = {"host": url.netloc, **(headers or {})}
    full = {
        **(query or {}),
        "X-Amz-Algorithm": _ALGORITHM,
        "X-Amz-Credential": f"{place.access_key_id}/{_scope(place, stamp)}",
        "X-Amz-Date": stamp,
        "X-Amz-Expires": str(seconds),
        "X-Amz-SignedHeaders": ";".join(sorted(sent)),
    }
    full["X-Amz-Signature"] = _signature(place, stamp, _canonical(method, url.path, full, sent, UNSIGNED))
    return urllib.parse.urlunsplit(url._replace(query=_encoded(full)))


def _url(place: S3Place, key: str) -> urllib.parse.SplitResult:
    path = urllib.parse.quote(key, safe="/-_.~")
    return urllib.parse.urlsplit(f"{place.bucket_url}/{path}" if path or place.is_virtual_host else place.bucket_url)


def _encoded(query: Mapping[str, str]) -> str:
    pairs = [(_quote(name), _quote(value)) for name, value in query.items()]
    return "&".join(f"{name}={value}" for name, value in sorted(pairs))


def _quote(text: str) -> str:
    return urllib.parse.quote(text, safe="-_.~")


def _canonical(method: str, path: str, query: Mapping[str, str], headers: Mapping[str, str], payload: str) -> str:
    lines = "".join(f"{name}:{headers[name].strip()}\n" for name in sorted(headers))
    return "\n".join((method, path or "/", _encoded(query), lines, ";".join(sorted(headers)), payload))


def _scope(place: S3Place, stamp: str) -> str:
    return f"{stamp[:8]}/{place.region}/s3/aws4_request"


def _signature(place: S3Place, stamp: str, canonical: str) -> str:
    key = f"AWS4{place.secret_access_key}".encode()
    for part in (stamp[:8], place.region, "s3", "aws4_request"):
        key = hmac.new(key, part.encode(), "sha256").digest()
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    text = "\n".join((_ALGORITHM, stamp, _scope(place, stamp), digest))
    return hmac.new(key, text.encode(), "sha256").hexdigest()
