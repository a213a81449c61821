"""Tables of artifacts. The manifest of a version is a blob."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, Index, Integer, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from danlu.store.sql.tables import Base

_Number = BigInteger().with_variant(Integer, "sqlite")  # SQLite generates ids for INTEGER keys only


class ArtifactRow(Base):
    """An artifact: a name in a project that has versions."""

    __tablename__ = "artifacts"
    __table_args__ = (UniqueConstraint("project_id", "name"),)

    number: Mapped[int] = mapped_column(_Number, primary_key=True, autoincrement=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id"))
    name: Mapped[str] = mapped_column(String(200))
    labels: Mapped[list[Any]]
    description: Mapped[str] = mapped_column(Text, default="")
    last_version: Mapped[int] = mapped_column(default=0)
    """The last version number. It is never reused, even after a deletion."""

    created_at: Mapped[datetime]


class ArtifactVersionRow(Base):
    """A committed version."""

    __tablename__ = "artifact_versions"
    __table_args__ = (
        UniqueConstraint("artifact", "version"),
        Index("artifact_versions_by_run", "run_id"),
        Index("artifact_versions_by_job", "job_id"),
    )

    number: Mapped[int] = mapped_column(_Number, primary_key=True, autoincrement=True)
    id: Mapped[str] = mapped_column(String(40), unique=True)
    """Created by the client, so that a repeated request creates no second one."""

    artifact: Mapped[int] = mapped_column(_Number, ForeignKey("artifacts.number"))
    version: Mapped[int]
    """1, 2, … within the artifact."""

    manifest: Mapped[str] = mapped_column(String(64))
    """Digest of the manifest."""

    size: Mapped[int] = mapped_column(BigInteger)
    num_files: Mapped[int]
    num_references: Mapped[int]
    labels: Mapped[list[Any]]
    aliases: Mapped[list[Any]]
    description: Mapped[str] = mapped_column(Text, default="")
    owner_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    run_id: Mapped[str | None] = mapped_column(String(40))
    """The run that produced it."""

    job_id: Mapped[str | None] = mapped_column(String(40))
    made_at: Mapped[datetime]
    """By the clock of the creating machine."""

    created_at: Mapped[datetime]
    """When it was committed."""


class ArtifactUploadRow(Base):
    """An unfinished upload. Clean-up keeps what was sent since it began."""

    __tablename__ = "artifact_uploads"
    __table_args__ = (Index("artifact_uploads_by_time", "seen_at"),)

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"))
    owner_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    job_id: Mapped[str | None] = mapped_column(String(40))
    name: Mapped[str] = mapped_column(String(200))
    replaces: Mapped[bool] = mapped_column(default=False)
    """Whether the commit replaces the current artifact of this name."""

    begun_at: Mapped[datetime]
    seen_at: Mapped[datetime]
    """Time of the last request."""
