"""Translates the object storage calls that tikit makes to requests to the store."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple

from starlette.types import Message, Receive, Send

from danlu.server.tencent import cos_uploads
from danlu.server.tencent.cos_reply import Reply, cased, failed, refused, relayed, send_reply
from danlu.server.tencent.cos_xml import document, encoded, parse_keys, shown_key, stored_key
from danlu.server.tencent.inner import Inner, collected, listing_path, object_path, plain_headers

MAX_COMPARED_BYTES = 1 << 20
"""A repeated upload up to this size is compared with what is stored."""

MAX_XML_BYTES = 2 << 20
MAX_KEYS = 1000
LISTING = {"prefix", "delimiter", "marker", "max-keys", "encoding-type"}
RESPONSE_HEADERS = {
    "response-content-type",
    "response-content-language",
    "response-expires",
    "response-cache-control",
    "response-content-disposition",
    "response-content-encoding",
}


class StoreCall(NamedTuple):
    """A request whose signature is valid."""

    method: str
    bucket: str
    """Empty: a request about all buckets."""

    key: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    is_new: Callable[[], bool]
    """Records the signature; False when it was used before."""

    inner: Inner
    """The API, called with the key of the request."""


Operation = Callable[[StoreCall, bytes], Awaitable[Reply]]


async def answer(call: StoreCall, receive: Receive, *, send: Send) -> None:
    if call.method == "PUT" and call.key and "x-cos-copy-source" not in call.headers:
        await send_reply(call, await _put(call, receive), send=send)
    elif call.method == "GET" and call.key and set(call.query) <= RESPONSE_HEADERS:
        await _get(call, receive, send=send)
    else:
        make = _operation(call)
        body = await _whole(receive) if call.method == "POST" else b""
        reply = (
            refused(call, "EntityTooLarge", status=413, message=f"at most {MAX_XML_BYTES} bytes")
            if body is None
            else None
        )
        await send_reply(call, reply or await make(call, body or b""), send=send)


def _operation(call: StoreCall) -> Operation:
    """The operation of a request, by its method, whether it names a bucket and a key, and its query."""
    place = "key" if call.key else "bucket" if call.bucket else ""
    query = set(call.query)
    found: dict[tuple[str, str, bool], Operation] = {
        ("GET", "", True): _list_buckets,
        ("GET", "bucket", query <= LISTING): _list_objects,
        ("GET", "bucket", "uploads" in query): cos_uploads.list_uploads,
        ("HEAD", "bucket", not query): _head_bucket,
        ("POST", "bucket", query == {"delete"}): _delete_objects,
        ("HEAD", "key", not query): _head,
        ("DELETE", "key", not query): _delete,
        ("POST", "key", query == {"uploads"}): cos_uploads.begin,
        ("POST", "key", query == {"uploadId"}): cos_uploads.complete,
        ("GET", "key", "uploadId" in query): cos_uploads.list_parts,
        ("DELETE", "key", query == {"uploadId"}): cos_uploads.abort,
    }
    return found.get((call.method, place, True), _unknown)


async def _unknown(call: StoreCall, _body: bytes) -> Reply:
    what = "copying objects" if "x-cos-copy-source" in call.headers else ", ".join(call.query) or "this"
    return refused(call, "NotImplemented", status=501, message=f"{call.method} {what}: not a call that is served here")


async def _list_buckets(call: StoreCall, _body: bytes) -> Reply:
    me, found = await call.inner.ask("GET", "/me"), await call.inner.ask("GET", "/buckets")
    if me.status != 200 or found.status != 200:
        return failed(call, me if me.status != 200 else found)
    name = me.values["name"]
    buckets = [
        {"Name": one["name"], "Location": "", "CreationDate": "", "BucketType": "cos"} for one in found.values["items"]
    ]
    listed = {"Owner": {"ID": name, "DisplayName": name}, "Buckets": {"Bucket": buckets}}
    return Reply(200, document("ListAllMyBucketsResult", listed))


async def _head_bucket(call: StoreCall, _body: bytes) -> Reply:
    found = await call.inner.ask("GET", listing_path(call.bucket, limit=1))
    return Reply(200) if found.status == 200 else failed(call, found)


async def _list_objects(call: StoreCall, _body: bytes) -> Reply:
    prefix, marker, delimiter = (call.query.get(name, "") for name in ("prefix", "marker", "delimiter"))
    asked = call.query.get("max-keys", "")
    limit = min(max(int(asked), 1), MAX_KEYS) if asked.isascii() and asked.isdigit() and len(asked) < 9 else MAX_KEYS
    page = listing_path(call.bucket, prefix=prefix.lstrip("/"), delimiter=delimiter, cursor=marker, limit=limit)
    found = await call.inner.ask("GET", page)
    if found.status != 200:
        return failed(call, found)
    listing, is_url = found.values, call.query.get("encoding-type") == "url"

    def text(value: str) -> str:
        return encoded(value, is_url=is_url)

    contents = [
        {
            "Key": text(shown_key(one["key"], one["size"])),
            "LastModified": one["modified_at"],
            "ETag": f'"{one.get("sha256") or ""}"',
            "Size": one["size"],
            "StorageClass": "STANDARD",
        }
        for one in listing["objects"]
        if not cos_uploads.is_part(one["key"])
    ]
    folders = [{"Prefix": text(one)} for one in listing["folders"] if not cos_uploads.is_part(one)]
    after = listing.get("next")
    values = {
        "Name": call.bucket,
        "Prefix": text(prefix),
        "Marker": text(marker),
        "MaxKeys": limit,
        **({"Delimiter": delimiter} if delimiter else {}),
        **({"EncodingType": "url"} if is_url else {}),
        "IsTruncated": "false" if after is None else "true",
        **({} if after is None else {"NextMarker": text(after)}),
        "Contents": contents,
        "CommonPrefixes": folders,
    }
    return Reply(200, document("ListBucketResult", values))


async def _delete_objects(call: StoreCall, body: bytes) -> Reply:
    if not _is_body(call, body):
        return refused(call, "BadDigest", status=400, message="the body is not what Content-MD5 says")
    if not call.is_new():
        return repeated(call)
    deleted, errors = [], []
    for key in parse_keys(body)[:MAX_KEYS]:
        done = await call.inner.ask("DELETE", object_path(call.bucket, stored_key(key.lstrip("/"))))
        if done.status in (200, 404):
            deleted.append({"Key": key})
        else:
            errors.append({"Key": key, "Code": "AccessDenied", "Message": done.message})
    return Reply(200, document("DeleteResult", {"Deleted": deleted, "Error": errors}))


async def _delete(call: StoreCall, _body: bytes) -> Reply:
    path = object_path(call.bucket, stored_key(call.key))
    if not call.is_new() and (await call.inner.ask("HEAD", path)).status != 404:
        return repeated(call)
    done = await call.inner.ask("DELETE", path)
    return Reply(204) if done.status in (200, 204) else failed(call, done)


async def _head(call: StoreCall, _body: bytes) -> Reply:
    """An object; of a key that ends in `/`, whether anything is below it."""
    if call.key.endswith("/"):
        found = await call.inner.ask("GET", listing_path(call.bucket, prefix=call.key, limit=1))
        is_there = found.status == 200 and bool(found.values["objects"])
        return Reply(200, headers={"Content-Length": "0"}) if is_there else Reply(404)
    found = await call.inner.ask("HEAD", object_path(call.bucket, call.key))
    return relayed(found) if found.status == 200 else failed(call, found)


async def _get(call: StoreCall, receive: Receive, *, send: Send) -> None:
    """Stream the response; a failure is translated to one of the storage."""
    failure: list[Message] = []

    async def pass_on(message: Message) -> None:
        is_failure = message["type"] == "http.response.start" and message["status"] >= 400
        if is_failure or failure:
            failure.append(message)
        elif message["type"] == "http.response.start":
            await send({**message, "headers": cased(plain_headers(message))})
        else:
            await send(message)

    ranged = {"range": call.headers["range"]} if "range" in call.headers else {}
    path = object_path(call.bucket, stored_key(call.key))
    await call.inner.send("GET", path, receive=receive, send=pass_on, headers=ranged)
    if failure:
        await send_reply(call, failed(call, collected(failure)), send=send)


async def _put(call: StoreCall, receive: Receive) -> Reply:
    """An object, or a part of one."""
    key = stored_key(call.key)
    if call.query:
        part = cos_uploads.part_key(call)
        if part is None:
            return await _unknown(call, b"")
        key = part
    path = object_path(call.bucket, key)
    if not call.is_new():
        return await _put_again(call, path, receive=receive)
    body = HashedBody(receive, call.headers.get("content-md5", ""))
    messages: list[Message] = []

    async def keep(message: Message) -> None:
        messages.append(message)

    length = {name: call.headers[name] for name in ("content-length", "transfer-encoding") if name in call.headers}
    await call.inner.send("PUT", path, receive=body, send=keep, headers=length)
    if body.is_wrong:
        return refused(
            call, "BadDigest", status=400, message="the body is not what Content-MD5 says; nothing was stored"
        )
    done = collected(messages)
    return Reply(200, headers={"ETag": f'"{body.md5}"'}) if done.status == 200 else failed(call, done)


async def _put_again(call: StoreCall, path: str, *, receive: Receive) -> Reply:
    """Signatures differ by the second: an upload that is repeated within one succeeds if it changes nothing."""
    body = await _whole(receive, MAX_COMPARED_BYTES)
    found = await call.inner.ask("HEAD", path)
    if body is None or found.status != 200 or int(found.headers.get("content-length", "-1")) != len(body):
        return repeated(call)
    stored = await call.inner.ask("GET", path)
    if stored.body != body:
        return repeated(call)
    return Reply(200, headers={"ETag": f'"{hashlib.md5(body, usedforsecurity=False).hexdigest()}"'})


def repeated(call: StoreCall) -> Reply:
    return refused(call, "AccessDenied", status=403, message="this signature was used already; sign the request again")


class HashedBody:
    """Hashes a body while it is read. If the MD5 is not the announced one, it ends like a broken connection."""

    def __init__(self, receive: Receive, expected: str) -> None:
        self._receive, self._expected = receive, expected
        self._hash = hashlib.md5(usedforsecurity=False)
        self.is_wrong = False

    @property
    def md5(self) -> str:
        return self._hash.hexdigest()

    async def __call__(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.request":
            self._hash.update(message.get("body", b""))
            is_last = not message.get("more_body", False)
            if is_last and self._expected and _base64(self._hash.digest()) != self._expected:
                self.is_wrong = True
                return {"type": "http.disconnect"}
        return message


def _is_body(call: StoreCall, body: bytes) -> bool:
    """Whether the body is the signed one: the signature covers its MD5."""
    return call.headers.get("content-md5") == _base64(hashlib.md5(body, usedforsecurity=False).digest())


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


async def _whole(receive: Receive, most_bytes: int = MAX_XML_BYTES) -> bytes | None:
    """The whole body; None when it is longer, or the client has disconnected."""
    found = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        found += message.get("body", b"")
        if len(found) > most_bytes:
            return None
        if not message.get("more_body", False):
            return bytes(found)
