"""Uploads in parts: each part is an object in a folder of the upload, until the upload is complete."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING

from starlette.types import Message

from danlu.server.tencent.cos_reply import Reply, failed, refused
from danlu.server.tencent.cos_xml import PartClaim, document, parse_parts
from danlu.server.tencent.inner import collected, listing_path, object_path

if TYPE_CHECKING:
    from danlu.server.tencent.cos import StoreCall

FOLDER = ".cos-uploads/"
"""Where parts are, in their bucket. Lists of the storage do not show it."""

PIECE_BYTES = 4 << 20
MAX_PARTS = 10_000
_ID = re.compile(r"[0-9a-f]{48}", re.ASCII)


def is_part(key: str) -> bool:
    return key.startswith(FOLDER)


async def list_uploads(call: StoreCall, _body: bytes) -> Reply:
    """Always empty: interrupted uploads start over."""
    values = {"Bucket": call.bucket, "EncodingType": "url", "MaxUploads": 1000, "IsTruncated": "false"}
    return Reply(200, document("ListMultipartUploadsResult", values))


async def begin(call: StoreCall, _body: bytes) -> Reply:
    """Nothing is stored yet: the id contains a digest of the key."""
    upload = secrets.token_hex(16) + _digest(call.key)
    values = {"Bucket": call.bucket, "Key": call.key, "UploadId": upload}
    return Reply(200, document("InitiateMultipartUploadResult", values))


def part_key(call: StoreCall) -> str | None:
    """The key that a part is stored under; None when the request does not name a part."""
    upload, number = call.query.get("uploadId", ""), call.query.get("partNumber", "")
    is_number = number.isascii() and number.isdigit() and 1 <= int(number[:9]) <= MAX_PARTS
    if set(call.query) != {"uploadId", "partNumber"} or not is_number or not _is_of(call, upload):
        return None
    return _place(upload, int(number))


async def list_parts(call: StoreCall, _body: bytes) -> Reply:
    upload = call.query["uploadId"]
    sizes = await _sizes(call, upload)
    if isinstance(sizes, Reply):
        return sizes
    parts = [{"PartNumber": number, "Size": size, "ETag": '""'} for number, size in sorted(sizes.items())]
    values = {"Bucket": call.bucket, "Key": call.key, "UploadId": upload, "IsTruncated": "false", "Part": parts}
    return Reply(200, document("ListPartsResult", values))


async def abort(call: StoreCall, _body: bytes) -> Reply:
    if not _is_of(call, call.query["uploadId"]):
        return _no_upload(call)
    done = await call.inner.ask("DELETE", listing_path(call.bucket, prefix=f"{FOLDER}{call.query['uploadId']}/"))
    return Reply(204) if done.status == 200 else failed(call, done)


async def complete(call: StoreCall, body: bytes) -> Reply:
    """Create the object from its parts, if they are what the client claims."""
    upload, parts = call.query["uploadId"], parse_parts(body)
    sizes = await _sizes(call, upload)
    if isinstance(sizes, Reply):
        return sizes
    problem = _problem(call, [part.number for part in parts], sizes=sizes)
    if problem is not None:
        return problem
    source = _Parts(call, parts, sizes=sizes)
    messages: list[Message] = []

    async def keep(message: Message) -> None:
        messages.append(message)

    length = {"content-length": str(sum(sizes[part.number] for part in parts))}
    path = object_path(call.bucket, call.key)
    await call.inner.send("PUT", path, receive=source.receive, send=keep, headers=length)
    if source.wrong is not None:
        return refused(call, "InvalidPart", status=400, message=f"part {source.wrong} is not what its ETag says")
    done = collected(messages)
    if done.status != 200:
        return failed(call, done)
    await call.inner.ask("DELETE", listing_path(call.bucket, prefix=f"{FOLDER}{upload}/"))
    etag = hashlib.md5(b"".join(source.digests), usedforsecurity=False).hexdigest()
    values = {"Location": "", "Bucket": call.bucket, "Key": call.key, "ETag": f'"{etag}-{len(parts)}"'}
    return Reply(200, document("CompleteMultipartUploadResult", values))


def _problem(call: StoreCall, numbers: list[int], *, sizes: dict[int, int]) -> Reply | None:
    """Why the upload cannot be completed; None when it can."""
    if not sizes:
        return _no_upload(call)
    if not numbers or numbers != sorted(set(numbers)):
        return refused(
            call, "InvalidPartOrder", status=400, message=f"expected parts in the order of their numbers, got {numbers}"
        )
    missing = [number for number in numbers if number not in sizes]
    return refused(call, "InvalidPart", status=400, message=f"part {missing[0]} has not arrived") if missing else None


class _Parts:
    """The bytes of all parts, one after the other, as the body of a request."""

    def __init__(self, call: StoreCall, parts: Sequence[PartClaim], *, sizes: dict[int, int]) -> None:
        self._call, self._sizes = call, sizes
        self._left = list(parts)
        self._offset = 0
        self._hash = hashlib.md5(usedforsecurity=False)
        self.digests: list[bytes] = []
        self.wrong: int | None = None

    async def receive(self) -> Message:
        if not self._left:
            return {"type": "http.disconnect"}
        part = self._left[0]
        piece = await self._read(part.number)
        self._hash.update(piece)
        self._offset += len(piece)
        is_short = not piece and self._offset < self._sizes[part.number]
        if self._offset >= self._sizes[part.number]:
            self.digests.append(self._hash.digest())
            is_short = self._hash.hexdigest() != part.etag
            self._left.pop(0)
            self._offset, self._hash = 0, hashlib.md5(usedforsecurity=False)
        if is_short:
            self.wrong = part.number
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": piece, "more_body": bool(self._left)}

    async def _read(self, number: int) -> bytes:
        last = min(self._offset + PIECE_BYTES, self._sizes[number]) - 1
        if last < self._offset:
            return b""
        path = object_path(self._call.bucket, _place(self._call.query["uploadId"], number))
        found = await self._call.inner.ask("GET", path, headers={"range": f"bytes={self._offset}-{last}"})
        return found.body if found.status in (200, 206) else b""


async def _sizes(call: StoreCall, upload: str) -> dict[int, int] | Reply:
    """Number of a part that has arrived -> its size."""
    if not _is_of(call, upload):
        return _no_upload(call)
    prefix, after = f"{FOLDER}{upload}/", ""
    sizes: dict[int, int] = {}
    while True:
        found = await call.inner.ask("GET", listing_path(call.bucket, prefix=prefix, cursor=after, limit=1000))
        if found.status != 200:
            return failed(call, found)
        sizes |= {int(one["key"][len(prefix) :]): one["size"] for one in found.values["objects"]}
        after = found.values.get("next") or ""
        if not after:
            return sizes


def _place(upload: str, number: int) -> str:
    return f"{FOLDER}{upload}/{number:05}"


def _is_of(call: StoreCall, upload: str) -> bool:
    """Whether this id was issued for this key."""
    return _ID.fullmatch(upload) is not None and upload.endswith(_digest(call.key))


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()[:16]


def _no_upload(call: StoreCall) -> Reply:
    return refused(call, "NoSuchUpload", status=404, message="no upload of this id and key is under way")
