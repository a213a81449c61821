"""`ObsClient`: reads and writes objects of the store, with responses like the original's."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any, NamedTuple, Optional, Union

from danlu.errors import DanluError
from modelarts.access import open_client

OK = 200


class Body(NamedTuple):
    buffer: Optional[bytes] = None
    url: str = ""
    contents: tuple[Any, ...] = ()


class Content(NamedTuple):
    key: str
    size: int


class Response(NamedTuple):
    status: int
    body: Body = Body()
    errorCode: Optional[str] = None
    errorMessage: Optional[str] = None


class ObsClient:
    """Like in the original, errors are responses with a status of 300 or more, not exceptions."""

    def __init__(
        self,
        access_key_id: Optional[str] = None,
        secret_access_key: Optional[str] = None,
        server: Optional[str] = None,
        **options: Any,
    ) -> None:
        del options  # connection settings
        self._danlu = open_client(access_key_id, secret_access_key, server)

    def putContent(
        self,
        bucketName: str,
        objectKey: str,
        content: Union[str, bytes, None] = None,
        **options: Any,
    ) -> Response:
        """Store text or bytes. A key that ends in `/` is a folder; folders need not be created."""
        del options
        if objectKey.endswith("/"):
            return Response(OK)
        data = content.encode() if isinstance(content, str) else content or b""
        with tempfile.NamedTemporaryFile(prefix="obs-") as file:
            file.write(data)
            file.flush()
            return self._put(file.name, f"{bucketName}/{objectKey}")

    def putFile(self, bucketName: str, objectKey: str, file_path: str, **options: Any) -> Response:
        """Store a file, or the content of a folder below the key."""
        del options
        key = objectKey.strip("/")
        return self._put(file_path, f"{bucketName}/{key}/" if os.path.isdir(file_path) else f"{bucketName}/{key}")

    def getObject(
        self,
        bucketName: str,
        objectKey: str,
        downloadPath: Optional[str] = None,
        loadStreamInMemory: bool = False,
        **options: Any,
    ) -> Response:
        """Download an object to a file or into memory."""
        del loadStreamInMemory, options
        with tempfile.TemporaryDirectory(prefix="obs-") as folder:
            target = Path(downloadPath) if downloadPath else Path(folder) / "object"
            try:
                self._danlu.store.download(f"{bucketName}/{objectKey}", target)
            except DanluError as error:
                return _failed(error)
            return Response(OK, Body(buffer=None if downloadPath else target.read_bytes(), url=downloadPath or ""))

    def listObjects(self, bucketName: str, prefix: str = "", **options: Any) -> Response:
        del options
        try:
            found = [Content(item.key, item.size) for item in self._danlu.store.list(f"{bucketName}/{prefix}")]
        except DanluError as error:
            return _failed(error)
        return Response(OK, Body(contents=tuple(found)))

    def deleteObject(self, bucketName: str, objectKey: str, **options: Any) -> Response:
        del options
        try:
            self._danlu.store.delete(f"{bucketName}/{objectKey}")
        except DanluError as error:
            return _failed(error)
        return Response(204)

    def close(self) -> None:
        self._danlu.close()

    def _put(self, local: str, to: str) -> Response:
        try:
            self._danlu.store.upload(local, to)
        except DanluError as error:
            return _failed(error)
        return Response(OK)


def _failed(error: DanluError) -> Response:
    return Response(error.status, errorCode=type(error).__name__, errorMessage=error.message)
