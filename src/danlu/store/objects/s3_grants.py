"""Direct transfers to and from an S3 service: signed URLs, each for one request."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import obstore
from obstore.store import S3Store

from danlu.spec.paths import StorePath
from danlu.store.objects.base import Grants, ObjectInfo, Objects, Part
from danlu.store.objects.s3_requests import GRANT_SECONDS, S3Requests

SHA256 = "danlu-sha256"
"""Name of the digest in an object's metadata."""


class S3Grants(Grants):
    def __init__(self, objects: Objects, store: S3Store, requests: S3Requests, key: Callable[[StorePath], str]) -> None:
        self._objects, self._store, self._requests, self._key = objects, store, requests, key

    def sign_get(self, path: StorePath) -> str:
        return obstore.sign(self._store, "GET", self._key(path), timedelta(seconds=GRANT_SECONDS))

    def begin(self, path: StorePath, sha256: str) -> str:
        return self._requests.begin_multipart(self._key(path), {SHA256: sha256})

    def sign_part(self, path: StorePath, upload: str, *, number: int, md5: str) -> str:
        return self._requests.sign_part(self._key(path), upload, number=number, md5=md5)

    def parts(self, path: StorePath, upload: str) -> dict[int, Part]:
        return self._requests.list_parts(self._key(path), upload)

    def complete(self, path: StorePath, upload: str, *, parts: dict[int, Part]) -> ObjectInfo:
        self._requests.complete_multipart(self._key(path), upload, parts=parts)
        return self._objects.stat(path)

    def abort(self, path: StorePath, upload: str) -> None:
        self._requests.abort_multipart(self._key(path), upload)
