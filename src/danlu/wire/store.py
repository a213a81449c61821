"""Buckets, objects and trees on the wire."""

from __future__ import annotations

import hashlib
import json
import stat
from typing import Optional

from pydantic import Field, field_validator

from danlu.spec.paths import check_key
from danlu.wire.base import Answer, Body, Moment


class MakeBucket(Body):
    name: str
    project: Optional[str] = None
    """The project that it belongs to; your first one when omitted."""


class MoveBucket(Body):
    project: str
    """The project that it belongs to from now on."""


class BucketOut(Answer):
    name: str
    project: str


class ObjectOut(Answer):
    key: str
    size: int
    modified_at: Moment
    sha256: Optional[str] = None
    """Known right after an upload and in HEAD; not in lists."""


class ListingOut(Answer):
    objects: list[ObjectOut]
    folders: list[str] = []
    """Common prefixes, each ending in the delimiter."""

    next: Optional[str] = None


class BeginUpload(Body):
    """An object that will arrive in pieces. The same again, before it is whole, takes the earlier upload up."""

    key: str
    size: int = Field(ge=0, le=2**50)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    direct: bool = False
    """Whether the sender can send parts directly to the object service, if the server allows it."""


class UploadOut(Answer):
    id: str
    offset: int
    """How much has arrived; continue from here."""

    size: int
    part_bytes: Optional[int] = None
    """Set when parts of this size, the last one shorter, go to the object service with grants."""

    parts: list[int] = []
    """Numbers of the parts that have arrived there, from 1."""


class PartIn(Body):
    number: int = Field(ge=1, le=10_000)
    md5: str = Field(pattern=r"^[A-Za-z0-9+/]{22}==$")
    """Of the part, in base64. The service takes no other bytes."""


class AskGrants(Body):
    parts: list[PartIn] = Field(min_length=1, max_length=100)


class GrantsOut(Answer):
    urls: list[str]
    """Where each part goes, with PUT and its Content-MD5, within a quarter of an hour."""


class DeletedOut(Answer):
    num_objects: int


class TreeFile(Body):
    """A file of a tree: where it is and what is in it."""

    path: str
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    size: int = Field(ge=0)
    is_executable: bool = False

    @field_validator("path")
    @classmethod
    def _inside(cls, path: str) -> str:
        check_key(path)
        return path


class Tree(Body):
    """A folder by content. Its digest names it."""

    files: list[TreeFile] = Field(max_length=100_000)

    @field_validator("files")
    @classmethod
    def _each_once(cls, files: list[TreeFile]) -> list[TreeFile]:
        paths = [file.path for file in files]
        if len(set(paths)) != len(paths):
            raise ValueError("a path is listed twice")
        return sorted(files, key=lambda file: file.path)

    def to_json(self) -> bytes:
        """The canonical form: what is stored, and what the digest is of."""
        rows = [[file.path, file.sha256, file.size, file.is_executable] for file in self.files]
        return json.dumps(rows, ensure_ascii=True, separators=(",", ":")).encode()

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.to_json()).hexdigest()

    @classmethod
    def from_json(cls, data: bytes) -> Tree:
        return cls(
            files=[
                TreeFile(path=path, sha256=sha256, size=size, is_executable=is_executable)
                for path, sha256, size, is_executable in json.loads(data)
            ]
        )


class TreeOut(Answer):
    digest: str
    missing: list[str]
    """Digests of the files that the server has not got; the tree exists once this is empty."""


def is_executable(mode: int) -> bool:
    return bool(mode & stat.S_IXUSR)
