"""Tables of the model registry."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, Index, Integer, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from danlu.store.sql.tables import Base

_Number = BigInteger().with_variant(Integer, "sqlite")  # SQLite generates ids for INTEGER keys only


class ModelRow(Base):
    """A model: a name in a project that has versions."""

    __tablename__ = "models"
    __table_args__ = (UniqueConstraint("project_id", "name"),)

    number: Mapped[int] = mapped_column(_Number, primary_key=True, autoincrement=True)
    id: Mapped[str] = mapped_column(String(40), unique=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id"))
    name: Mapped[str] = mapped_column(String(100))
    description: Mapped[str] = mapped_column(Text, default="")
    tags: Mapped[dict[str, Any]]
    last_version: Mapped[int] = mapped_column(default=0)
    """The last version number. It is never reused, even after a deletion."""

    created_at: Mapped[datetime]


class ModelVersionRow(Base):
    """A model version."""

    __tablename__ = "model_versions"
    __table_args__ = (
        UniqueConstraint("model", "version"),
        Index("model_versions_by_job", "job_id"),
        Index("model_versions_by_artifact", "artifact_id"),
        Index("model_versions_by_bucket", "bucket"),
    )

    number: Mapped[int] = mapped_column(_Number, primary_key=True, autoincrement=True)
    id: Mapped[str] = mapped_column(String(40), unique=True)
    model: Mapped[int] = mapped_column(_Number, ForeignKey("models.number"))
    version: Mapped[int]
    """1, 2, … within the model."""

    bucket: Mapped[str | None] = mapped_column(String(63))
    """Bucket of its files; None when they belong to an artifact."""

    bucket_id: Mapped[str] = mapped_column(String(32), default="", server_default="")

    key: Mapped[str] = mapped_column(Text, default="")
    is_copied: Mapped[bool] = mapped_column(default=False)
    """Whether the files are its own copy."""

    job_id: Mapped[str | None] = mapped_column(String(40))
    run_id: Mapped[str | None] = mapped_column(String(40))
    """The run of its metrics."""

    artifact_id: Mapped[str | None] = mapped_column(String(40))
    source: Mapped[str] = mapped_column(Text)
    """Display name of its source."""

    size: Mapped[int] = mapped_column(BigInteger)
    num_files: Mapped[int]
    format: Mapped[str] = mapped_column(String(60), default="")
    framework: Mapped[str] = mapped_column(String(100), default="")
    environment: Mapped[dict[str, Any]]
    """Environment for inference: image, command, env."""

    metrics: Mapped[dict[str, Any]]
    """Copied at registration, as `hparams`."""

    hparams: Mapped[dict[str, Any]]
    tags: Mapped[dict[str, Any]]
    description: Mapped[str] = mapped_column(Text, default="")
    owner_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    created_at: Mapped[datetime]


class ModelAliasRow(Base):
    """An alias of a model version. The primary key ensures that it names one version."""

    __tablename__ = "model_aliases"

    model: Mapped[int] = mapped_column(_Number, ForeignKey("models.number", ondelete="CASCADE"), primary_key=True)
    alias: Mapped[str] = mapped_column(String(60), primary_key=True)
    version: Mapped[int]
