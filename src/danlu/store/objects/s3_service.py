"""The requests to an S3 service that obstore has no call for: lists in pages, and uploads in parts that others send.

Lists are of the first version of the call, with `marker`: every service has it, and its pages begin at any key.
"""

from __future__ import annotations

import http.client
import ssl
import time
import urllib.parse
import xml.etree.ElementTree as ET  # what it reads comes from the service that we chose, and expands nothing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone

from danlu.errors import NotFound, Unavailable
from danlu.store.objects.base import Part
from danlu.store.objects.s3_signing import S3Place, Signed, presign, sign

TIMEOUT_SECONDS = 60.0
GRANT_SECONDS = 900
NUM_TRIES = 4
_TRY_AGAIN = (429, 500, 502, 503, 504)
_LAST = "\U0010ffff"


@dataclass(frozen=True, slots=True)
class Found:
    key: str
    size: int
    modified_at: datetime


@dataclass(frozen=True, slots=True)
class S3Page:
    objects: list[Found]
    folders: list[str]
    is_last: bool


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes


class S3Service:
    def __init__(self, place: S3Place, now: Callable[[], datetime] = lambda: datetime.now(timezone.utc)) -> None:
        self._place = place
        self._now = now

    def list(self, *, prefix: str, delimiter: str, after: str, limit: int) -> S3Page:
        """One page of keys after `after`, at most `limit`; a folder as `after` stands for all that is in it."""
        marker = after + _LAST if delimiter and after.endswith(delimiter) else after
        query = {"prefix": prefix, "delimiter": delimiter, "marker": marker, "max-keys": str(limit)}
        root = self._ask("GET", "", query={name: value for name, value in query.items() if value})
        objects = [
            Found(_text(item, "Key"), int(_text(item, "Size")), _time(_text(item, "LastModified")))
            for item in root.iterfind("Contents")
        ]
        folders = [_text(item, "Prefix") for item in root.iterfind("CommonPrefixes")]
        return S3Page(
            objects=[item for item in objects if item.key > after],
            folders=[folder for folder in folders if folder > after],
            is_last=_text(root, "IsTruncated") != "true",
        )

    def begin_parts(self, key: str, metadata: Mapping[str, str]) -> str:
        headers = {f"x-amz-meta-{name}": value for name, value in metadata.items()}
        return _text(self._ask("POST", key, query={"uploads": ""}, headers=headers), "UploadId")

    def parts(self, key: str, upload: str) -> dict[int, Part]:
        found: dict[int, Part] = {}
        marker = "0"
        while True:
            query = {"uploadId": upload, "part-number-marker": marker}
            root = self._ask("GET", key, query=query)
            for item in root.iterfind("Part"):
                found[int(_text(item, "PartNumber"))] = Part(int(_text(item, "Size")), _text(item, "ETag"))
            marker = _text(root, "NextPartNumberMarker")
            if _text(root, "IsTruncated") != "true" or not marker:
                return found

    def finish_parts(self, key: str, upload: str, parts: Mapping[int, Part]) -> None:
        rows = "".join(
            f"<Part><PartNumber>{number}</PartNumber><ETag>{part.etag}</ETag></Part>"
            for number, part in sorted(parts.items())
        )
        body = f"<CompleteMultipartUpload>{rows}</CompleteMultipartUpload>".encode()
        root = self._ask("POST", key, query={"uploadId": upload}, body=body)
        if root.tag == "Error":  # such an answer may begin with 200, before the service knows how it ends
            raise Unavailable(f"the object service could not put the parts of {key} together: {_text(root, 'Message')}")

    def drop_parts(self, key: str, upload: str) -> None:
        try:
            self._send("DELETE", key, query={"uploadId": upload})
        except NotFound:
            return

    def unfinished(self, prefix: str) -> Iterator[tuple[str, str, datetime]]:
        """Uploads in parts that nobody has finished or dropped: key, name, and when they were begun."""
        query = {"uploads": "", "prefix": prefix}
        while True:
            try:
                root = self._ask("GET", "", query=query)
            except NotFound:  # some services say so when there is none
                return
            for item in root.iterfind("Upload"):
                if _text(item, "Key").startswith(prefix):
                    yield _text(item, "Key"), _text(item, "UploadId"), _time(_text(item, "Initiated"))
            if _text(root, "IsTruncated") != "true":
                return
            query["key-marker"] = _text(root, "NextKeyMarker")
            query["upload-id-marker"] = _text(root, "NextUploadIdMarker")

    def grant(
        self, method: str, key: str, *, query: Mapping[str, str] | None = None, headers: Mapping[str, str] | None = None
    ) -> str:
        """A URL with which anybody can send this one request for a quarter of an hour."""
        return presign(self._place, method, key, at=self._now(), seconds=GRANT_SECONDS, query=query, headers=headers)

    def _ask(
        self,
        method: str,
        key: str,
        *,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
    ) -> ET.Element:
        answer = self._send(method, key, query=query, headers=headers, body=body)
        try:
            root = ET.fromstring(answer.body)
        except ET.ParseError as error:
            told = f"{self._place.endpoint} answered with something that is not S3; is it the right endpoint?"
            raise Unavailable(told) from error
        for element in root.iter():
            element.tag = element.tag.rpartition("}")[2]
        return root

    def _send(
        self,
        method: str,
        key: str,
        *,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
    ) -> _Answer:
        """Send, a few times when the service is busy or away. All that is sent here may be sent twice."""
        problem = ""
        for number in range(NUM_TRIES):
            if number:
                time.sleep(0.1 * 3 ** (number - 1))
            signed = sign(self._place, method, key, at=self._now(), query=query, headers=headers, body=body)
            try:
                answer = _once(self._place, method, signed, body)
            except (OSError, http.client.HTTPException) as error:
                problem = str(error) or type(error).__name__
                continue
            if 200 <= answer.status < 300:
                return answer
            problem = _problem(answer)
            if answer.status == 404:
                raise NotFound(f"the object service has no {key or self._place.bucket!r}: {problem}")
            if answer.status not in _TRY_AGAIN:
                break
        raise Unavailable(f"the object service at {self._place.endpoint} does not do what it is asked: {problem}")


def _once(place: S3Place, method: str, signed: Signed, body: bytes) -> _Answer:
    url = urllib.parse.urlsplit(signed.url)
    target = urllib.parse.urlunsplit(("", "", url.path or "/", url.query, ""))
    proxy = urllib.parse.urlsplit(place.proxy) if place.proxy else None
    near = proxy or url
    host, port = near.hostname or "", near.port
    connection: http.client.HTTPConnection
    if url.scheme == "https":
        connection = http.client.HTTPSConnection(
            host, port, timeout=TIMEOUT_SECONDS, context=ssl.create_default_context()
        )
        if proxy is not None:
            connection.set_tunnel(url.hostname or "", url.port or 443)
    else:
        connection = http.client.HTTPConnection(host, port, timeout=TIMEOUT_SECONDS)
        target = signed.url if proxy is not None else target
    try:
        connection.request(method, target, body=body, headers=dict(signed.headers))
        answer = connection.getresponse()
        return _Answer(answer.status, dict(answer.headers), answer.read())
    finally:
        connection.close()


def _problem(answer: _Answer) -> str:
    try:
        root = ET.fromstring(answer.body)
    except ET.ParseError:
        return f"HTTP {answer.status}"
    told = {element.tag.rpartition("}")[2]: element.text or "" for element in root.iter()}
    return f"{answer.status} {told.get('Code', '')}: {told.get('Message', '')}"


def _text(element: ET.Element, name: str) -> str:
    return element.findtext(name) or ""


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))
