"""Short-lived rights to move bytes to and from an S3 service without us: URLs that are signed for one request each."""

from __future__ import annotations

from collections.abc import Callable

from danlu.spec.paths import StorePath
from danlu.store.objects.base import Grants, ObjectInfo, Objects, Part
from danlu.store.objects.s3_service import S3Service

SHA256 = "danlu-sha256"
"""Name of the digest in an object's metadata."""


class S3Grants(Grants):
    def __init__(self, objects: Objects, service: S3Service, key: Callable[[StorePath], str]) -> None:
        self._objects, self._service, self._key = objects, service, key

    def to_get(self, path: StorePath) -> str:
        return self._service.grant("GET", self._key(path))

    def begin(self, path: StorePath, sha256: str) -> str:
        return self._service.begin_parts(self._key(path), {SHA256: sha256})

    def to_put(self, path: StorePath, upload: str, number: int, md5: str) -> str:
        query = {"uploadId": upload, "partNumber": str(number)}
        return self._service.grant("PUT", self._key(path), query=query, headers={"content-md5": md5})

    def parts(self, path: StorePath, upload: str) -> dict[int, Part]:
        return self._service.parts(self._key(path), upload)

    def finish(self, path: StorePath, upload: str, parts: dict[int, Part]) -> ObjectInfo:
        self._service.finish_parts(self._key(path), upload, parts)
        return self._objects.stat(path)

    def drop(self, path: StorePath, upload: str) -> None:
        self._service.drop_parts(self._key(path), upload)
