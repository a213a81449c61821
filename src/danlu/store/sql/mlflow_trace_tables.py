"""Tables of the traces that MLflow's clients log. Their spans are a file in the project's bucket."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import BigInteger, ForeignKey, Index, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from danlu.store.sql.run_tables import _Number
from danlu.store.sql.tables import Base


class TraceRow(Base):
    """One call of an application, in an experiment."""

    __tablename__ = "mlflow_traces"
    __table_args__ = (
        # newer clients choose the id: another project may have the same one
        UniqueConstraint("project_id", "id"),
        Index("mlflow_traces_by_experiment", "experiment", "began_ms", "number"),
    )

    number: Mapped[int] = mapped_column(_Number, primary_key=True, autoincrement=True)
    id: Mapped[str] = mapped_column(String(50))
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"))
    experiment: Mapped[int] = mapped_column(ForeignKey("mlflow_experiments.number", ondelete="CASCADE"))
    owner_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    job_id: Mapped[str | None] = mapped_column(String(40))
    status: Mapped[str] = mapped_column(String(40))
    began_ms: Mapped[int] = mapped_column(BigInteger)
    took_ms: Mapped[int | None] = mapped_column(BigInteger)
    """None until it has ended."""

    created_at: Mapped[datetime]


class TraceTextRow(Base):
    """A tag of a trace, or a value that was recorded with its request."""

    __tablename__ = "mlflow_trace_texts"

    trace: Mapped[int] = mapped_column(ForeignKey("mlflow_traces.number", ondelete="CASCADE"), primary_key=True)
    kind: Mapped[str] = mapped_column(String(10), primary_key=True)
    """tag or metadata"""

    key: Mapped[str] = mapped_column(String(250), primary_key=True)
    value: Mapped[str] = mapped_column(Text)
