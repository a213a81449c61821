"""Artifacts, their versions and uploads on the wire."""

from __future__ import annotations

from typing import Any, Optional

from pydantic import BaseModel, ConfigDict, Field

from danlu.spec.states import Word
from danlu.wire.base import Answer, Body, Moment

MAX_ASKED = 5000
"""Digests in one question, and chunks in one answer."""

MAX_PACK_BYTES = 32 << 20
"""Of chunks in one request or answer."""


class OnName(Word):
    """What to do when the project has an artifact of that name already."""

    VERSION = "version"
    """It becomes the next version of that one."""

    NEW = "new"
    """It gets the name that was given for this case."""

    SKIP = "skip"
    ERROR = "error"
    REPLACE = "replace"
    """The other one is deleted, with all its versions."""


class LinkKind(Word):
    INPUT = "input"
    OUTPUT = "output"


class BeginArtifact(BaseModel):
    """An upload begins, or is taken up again. Fields of a newer client are passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    artifact: str
    """Made by the client: `art-` and 26 characters of a-z and 2-7. Sent again, it names the same version."""

    name: str = Field(min_length=1, max_length=200)
    project: Optional[str] = Field(default=None, max_length=100)
    conflict: OnName = OnName.VERSION
    other_name: Optional[str] = Field(default=None, max_length=200)
    """The name to use instead, with `conflict` = new."""

    folder: Optional[str] = Field(default=None, max_length=500)
    """A folder of runs that has to be there, or is made: where the artifact is listed beside the runs."""

    make_folder: bool = True


class ArtifactOut(Answer):
    name: str
    project: str
    labels: list[str] = []
    description: str = ""
    latest: Optional[VersionOut] = None
    """Its newest version; None when all were deleted."""

    created_at: Moment


class VersionOut(Answer):
    id: str
    name: str
    """Of the artifact."""

    project: str
    version: int
    manifest: str
    """The digest of its manifest: two versions with the same one have the same content."""

    size: int
    num_files: int
    num_references: int
    labels: list[str] = []
    aliases: list[str] = []
    description: str = ""
    owner: str
    run: Optional[str] = None
    """The run whose output it is."""

    job: Optional[str] = None
    made_at: Moment
    created_at: Moment


class ArtifactUploadOut(Answer):
    id: str
    name: str
    """The one that it will have."""

    version: Optional[VersionOut] = None
    """Set when nothing must be sent: the version is complete already, or `conflict` keeps another one."""

    is_skipped: bool = False


class AskChunks(Body):
    digests: list[str] = Field(max_length=MAX_ASKED)


class LackingOut(Answer):
    lacking: list[str]
    """Those that the project has not sent; the others need not be sent again."""


class TakenOut(Answer):
    num_stored: int


class CommitArtifact(BaseModel):
    """What the version is. Fields of a newer client are passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    manifest: dict[str, Any]
    labels: list[str] = Field(default=[], max_length=100)
    description: str = Field(default="", max_length=100_000)
    aliases: list[str] = Field(default=[], max_length=20)
    created_at: Optional[float] = Field(default=None, ge=0, le=253_402_300_799, allow_inf_nan=False)
    """Seconds since 1970, by the client's clock."""


class ChangeArtifact(Body):
    """What is omitted stays as it is."""

    labels: Optional[list[str]] = Field(default=None, max_length=100)
    description: Optional[str] = Field(default=None, max_length=100_000)


class ChangeVersion(ChangeArtifact):
    aliases: Optional[list[str]] = Field(default=None, max_length=20)


class LinkRun(Body):
    """Say that a run has read or made this version."""

    run: str = Field(max_length=200)
    kind: LinkKind


class DeletedArtifact(Answer):
    num_versions: int


ArtifactOut.model_rebuild()
