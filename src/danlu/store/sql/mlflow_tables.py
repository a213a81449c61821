"""Tables for MLflow's clients: experiments, tags, parameters in original form, inputs and logged models."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from danlu.store.sql.run_tables import _Number
from danlu.store.sql.tables import Base


class ExperimentRow(Base):
    """A folder of runs as an experiment."""

    __tablename__ = "mlflow_experiments"
    __table_args__ = (UniqueConstraint("project_id", "folder"),)

    number: Mapped[int] = mapped_column(_Number, primary_key=True, autoincrement=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"))
    folder: Mapped[str] = mapped_column(String(500))
    tags: Mapped[dict[str, Any]]
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
    deleted_at: Mapped[datetime | None]


class RunTextRow(Base):
    """A tag of a run, a parameter as the text that was sent, or an input data set as JSON."""

    __tablename__ = "run_texts"
    __table_args__ = (Index("run_texts_by_key", "kind", "key"),)

    run: Mapped[int] = mapped_column(ForeignKey("runs.number", ondelete="CASCADE"), primary_key=True)
    kind: Mapped[str] = mapped_column(String(10), primary_key=True)
    """tag, param or input"""

    key: Mapped[str] = mapped_column(String(250), primary_key=True)
    value: Mapped[str] = mapped_column(Text)


class LoggedModelRow(Base):
    """A model that a run has logged. Its files are in the project's bucket."""

    __tablename__ = "mlflow_models"
    __table_args__ = (Index("mlflow_models_by_folder", "project_id", "folder", "number"),)

    number: Mapped[int] = mapped_column(_Number, primary_key=True, autoincrement=True)
    id: Mapped[str] = mapped_column(String(40), unique=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"))
    owner_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    folder: Mapped[str] = mapped_column(String(500))
    run_id: Mapped[str | None] = mapped_column(String(40))
    name: Mapped[str] = mapped_column(String(250))
    model_type: Mapped[str] = mapped_column(String(250))
    status: Mapped[str] = mapped_column(String(40))
    params: Mapped[dict[str, Any]]
    tags: Mapped[dict[str, Any]]
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
    deleted_at: Mapped[datetime | None]
