"""The tables of the model registry."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, Index, Integer, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from danlu.store.sql.tables import Base

_Number = BigInteger().with_variant(Integer, "sqlite")  # SQLite counts up by itself for INTEGER keys only


class ModelRow(Base):
    """A name in a project, under which versions are registered."""

    __tablename__ = "models"
    __table_args__ = (UniqueConstraint("project_id", "name"),)

    number: Mapped[int] = mapped_column(_Number, primary_key=True, autoincrement=True)
    id: Mapped[str] = mapped_column(String(40), unique=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id"))
    name: Mapped[str] = mapped_column(String(100))
    description: Mapped[str] = mapped_column(Text, default="")
    tags: Mapped[dict[str, Any]]
    last_version: Mapped[int] = mapped_column(default=0)
    """The number that was given last. It is not given again, even when the version is deleted."""

    created_at: Mapped[datetime]


class ModelVersionRow(Base):
    """A model as it was registered."""

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
    """Where its files are, with `key`; None when they are those of an artifact."""

    bucket_id: Mapped[str] = mapped_column(String(32), default="", server_default="")

    key: Mapped[str] = mapped_column(Text, default="")
    is_copied: Mapped[bool] = mapped_column(default=False)
    """Whether the files there are its own."""

    job_id: Mapped[str | None] = mapped_column(String(40))
    run_id: Mapped[str | None] = mapped_column(String(40))
    """The run whose metrics it has."""

    artifact_id: Mapped[str | None] = mapped_column(String(40))
    source: Mapped[str] = mapped_column(Text)
    """What it was registered from, as people name it."""

    size: Mapped[int] = mapped_column(BigInteger)
    num_files: Mapped[int]
    format: Mapped[str] = mapped_column(String(60), default="")
    framework: Mapped[str] = mapped_column(String(100), default="")
    environment: Mapped[dict[str, Any]]
    """What it takes to run it: image, command, env."""

    metrics: Mapped[dict[str, Any]]
    """As they were when it was registered, as `hparams`."""

    hparams: Mapped[dict[str, Any]]
    tags: Mapped[dict[str, Any]]
    description: Mapped[str] = mapped_column(Text, default="")
    owner_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    created_at: Mapped[datetime]


class ModelAliasRow(Base):
    """A word for one version of a model. The primary key is the promise that it names one at any moment."""

    __tablename__ = "model_aliases"

    model: Mapped[int] = mapped_column(_Number, ForeignKey("models.number", ondelete="CASCADE"), primary_key=True)
    alias: Mapped[str] = mapped_column(String(60), primary_key=True)
    version: Mapped[int]
