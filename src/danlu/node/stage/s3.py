"""Fetch objects of another S3 service with a key from the job's secrets. Requests use AWS Signature Version 4."""

from __future__ import annotations

import hashlib
import hmac
import os
import time
import xml.etree.ElementTree as Xml
from collections.abc import Iterator, Mapping
from typing import NamedTuple
from urllib.parse import quote, urlencode, urlsplit

from danlu.node.stage.elsewhere import Elsewhere, NotFetched, Source

_NO_BODY = hashlib.sha256(b"").hexdigest()


class _Bucket(NamedTuple):
    endpoint: str
    region: str
    name: str
    key_id: str
    secret: str

    def url(self, key: str = "", **query: str) -> str:
        path = f"{self.endpoint}/{quote(self.name)}/{quote(key, safe='/-_.~')}".rstrip("/" if not key else "")
        return f"{path}?{urlencode(sorted(query.items()), quote_via=quote)}" if query else path

    def sign(self, url: str, headers: Mapping[str, str]) -> Mapping[str, str]:
        return signed(self, url, headers=headers, at=time.time())


def fetch_s3(elsewhere: Elsewhere, source: Source, *, to: str, secret: str) -> int:
    """Fetch an object, or all objects in a folder; return how many. Raise NotFetched."""
    parts = urlsplit(source.url)
    key_id, colon, key = secret.partition(":")
    if not colon or not key_id or not key:
        raise NotFetched(f"{source.url}: expected ACCESS_KEY_ID:SECRET_ACCESS_KEY in the job secret")
    region = source.options.get("region") or "us-east-1"
    endpoint = (source.options.get("endpoint") or f"https://s3.{region}.amazonaws.com").rstrip("/")
    bucket = _Bucket(endpoint, region, parts.hostname or "", key_id, key)
    wanted = parts.path.lstrip("/")
    found = list(_objects(elsewhere, bucket, wanted))
    below = f"{wanted.rstrip('/')}/"
    inside = [one for one in found if one.startswith(below) and not one.endswith("/")]
    if inside:
        for one in inside:
            elsewhere.fetch_file(bucket.url(one), _below(to, one[len(below) :]), sign=bucket.sign)
        return len(inside)
    if wanted not in found:
        raise NotFetched(f"{source.url}: the service has no object and no folder of that name")
    target = os.path.join(to, os.path.basename(wanted)) if os.path.isdir(to) else to
    elsewhere.fetch_file(bucket.url(wanted), target, sha256=source.options.get("sha256", ""), sign=bucket.sign)
    return 1


def _objects(elsewhere: Elsewhere, bucket: _Bucket, prefix: str) -> Iterator[str]:
    token = ""
    while True:
        query = {"list-type": "2", "prefix": prefix, **({"continuation-token": token} if token else {})}
        answer = elsewhere.read(bucket.url(**query), sign=bucket.sign)
        if b"<!DOCTYPE" in answer or b"<!ENTITY" in answer:
            raise NotFetched(f"{bucket.endpoint}: expected a list of objects without XML declarations")
        try:
            top = Xml.fromstring(answer)
        except Xml.ParseError as error:
            raise NotFetched(f"{bucket.endpoint}: the list of objects is not XML: {error}") from error
        yield from (one.text or "" for one in top.iter() if one.tag.rpartition("}")[2] == "Key")
        token = next((one.text or "" for one in top if one.tag.rpartition("}")[2] == "NextContinuationToken"), "")
        if not token:
            return


def _below(folder: str, path: str) -> str:
    """Join paths, and reject names that would leave the folder."""
    names = path.split("/")
    if any(name in ("", ".", "..") for name in names) or "\0" in path:
        raise NotFetched(f"{path!r} is not a path below a folder")
    return os.path.join(folder, *names)


def signed(bucket: _Bucket, url: str, *, headers: Mapping[str, str], at: float) -> dict[str, str]:
    """Return the headers of a signed GET."""
    parts, moment = urlsplit(url), time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(at))
    day = moment[:8]
    all_headers = {"host": parts.netloc, "x-amz-content-sha256": _NO_BODY, "x-amz-date": moment}
    names = ";".join(sorted(all_headers))
    lines = "".join(f"{name}:{all_headers[name]}\n" for name in sorted(all_headers))
    asked = "\n".join(("GET", parts.path or "/", parts.query, lines, names, _NO_BODY))
    scope = f"{day}/{bucket.region}/s3/aws4_request"
    text = "\n".join(("AWS4-HMAC-SHA256", moment, scope, hashlib.sha256(asked.encode()).hexdigest()))
    key = f"AWS4{bucket.secret}".encode()
    for part in (day, bucket.region, "s3", "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    signature = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
    credential = f"AWS4-HMAC-SHA256 Credential={bucket.key_id}/{scope}, SignedHeaders={names}, Signature={signature}"
    return {**headers, "x-amz-content-sha256": _NO_BODY, "x-amz-date": moment, "Authorization": credential}
