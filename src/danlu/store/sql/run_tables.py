"""The tables of runs: what they are, where they lie, and the index over their metrics. The points are elsewhere."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, Float, ForeignKey, Index, Integer, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from danlu.store.sql.tables import Base

_Number = BigInteger().with_variant(Integer, "sqlite")  # SQLite counts up by itself for INTEGER keys only


class RunRow(Base):
    __tablename__ = "runs"
    __table_args__ = (
        Index("runs_by_project", "project_id", "number"),
        Index("runs_by_folder", "project_id", "folder", "number"),
        Index("runs_by_job", "job_id"),
        Index("runs_by_state", "state", "seen_at"),
    )

    number: Mapped[int] = mapped_column(_Number, primary_key=True, autoincrement=True)
    """Grows with every run: lists are in its order."""

    id: Mapped[str] = mapped_column(String(40), unique=True)
    """Made by the client, so that sending a run again makes no second one."""

    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id"))
    owner_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    folder: Mapped[str] = mapped_column(String(500))
    """Path within the project, such as vision/lr-search; empty at the top."""

    name: Mapped[str] = mapped_column(String(200))
    state: Mapped[str] = mapped_column(String(20))
    job_id: Mapped[str | None] = mapped_column(String(40))
    attempt: Mapped[int | None]
    is_own: Mapped[bool] = mapped_column(default=False)
    """Whether this is the run that a job has of its own."""

    labels: Mapped[list[Any]]
    description: Mapped[str] = mapped_column(Text, default="")
    hparams: Mapped[dict[str, Any]]
    summary: Mapped[dict[str, Any]]
    info: Mapped[dict[str, Any]]
    """What was captured where it ran: command, commit, host, packages."""

    set_at: Mapped[dict[str, Any]]
    """Field or key -> [branch, time] of the record that set it: journals may arrive in any order."""

    branch: Mapped[int] = mapped_column(default=1)
    """The newest one."""

    step: Mapped[int | None] = mapped_column(BigInteger)
    """Of the last point that is no use of the machine, as `epoch`."""

    epoch: Mapped[float | None] = mapped_column(Float)
    total_steps: Mapped[int | None] = mapped_column(BigInteger)
    num_points: Mapped[int] = mapped_column(BigInteger, default=0)
    created_at: Mapped[datetime]
    started_at: Mapped[datetime]
    ended_at: Mapped[datetime | None]
    seen_at: Mapped[datetime]
    """When something was last heard of it."""

    deleted_at: Mapped[datetime | None]
    """Since when it is in the bin."""

    version: Mapped[int] = mapped_column(default=0)
    """Goes up with every change that people can see."""


class RunFolderRow(Base):
    """A folder of a project. Those above it have rows of their own."""

    __tablename__ = "run_folders"

    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"), primary_key=True)
    path: Mapped[str] = mapped_column(String(500), primary_key=True)
    created_at: Mapped[datetime]


class RunValueRow(Base):
    """One value that runs are searched by: a hyperparameter, a summary value, the roll-up of a metric."""

    __tablename__ = "run_values"
    __table_args__ = (Index("run_values_by_key", "key", "num"),)

    run: Mapped[int] = mapped_column(ForeignKey("runs.number", ondelete="CASCADE"), primary_key=True)
    key: Mapped[str] = mapped_column(String(400), primary_key=True)
    """As people write it: metrics.val.acc, hparams.lr, summary.best"""

    num: Mapped[float | None] = mapped_column(Float)
    """The value, or the metric's last one."""

    low: Mapped[float | None] = mapped_column(Float)
    high: Mapped[float | None] = mapped_column(Float)
    text: Mapped[str | None] = mapped_column(String(500))


class JournalRow(Base):
    """How much of a journal has arrived, and how much of it has been worked on."""

    __tablename__ = "run_journals"

    run: Mapped[int] = mapped_column(ForeignKey("runs.number", ondelete="CASCADE"), primary_key=True)
    name: Mapped[str] = mapped_column(String(80), primary_key=True)
    offset: Mapped[int] = mapped_column(BigInteger, default=0)
    """Bytes that are durable."""

    ingested: Mapped[int] = mapped_column("noted", BigInteger, default=0)
    """Bytes that the series and the run hold; the column keeps its first name."""

    built: Mapped[int] = mapped_column(BigInteger, default=0)
    """Bytes whose points are in packs."""

    ingested_branch: Mapped[int] = mapped_column("noted_branch", default=1)
    """Branch of the points that come next, at `ingested`."""

    built_branch: Mapped[int] = mapped_column(default=1)
    layouts: Mapped[dict[str, Any]]
    """Number -> [type, names], of all rows before `ingested`."""

    branch: Mapped[int] = mapped_column(default=1)
    """The one it began with."""

    writer: Mapped[str] = mapped_column(String(20), default="process")
    rank: Mapped[int] = mapped_column(default=0)
    finish: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    """How its writer said that it ended: state, time, reason."""

    output_bytes: Mapped[int] = mapped_column(BigInteger, default=0)
    num_damaged: Mapped[int] = mapped_column(default=0)
    """Records whose content made no sense; they are passed over."""


class BranchRow(Base):
    """From which step on a branch of a run supersedes those before it."""

    __tablename__ = "run_branches"

    run: Mapped[int] = mapped_column(ForeignKey("runs.number", ondelete="CASCADE"), primary_key=True)
    branch: Mapped[int] = mapped_column(primary_key=True)
    said_step: Mapped[int | None] = mapped_column(BigInteger)
    """Where its writer said that it begins."""

    first_step: Mapped[int | None] = mapped_column(BigInteger)
    """Smallest step of its points; None until there is one."""


class SeriesRow(Base):
    """A metric of a run, rolled up."""

    __tablename__ = "run_series"
    __table_args__ = (UniqueConstraint("run", "type", "name"),)

    id: Mapped[int] = mapped_column(_Number, primary_key=True, autoincrement=True)
    run: Mapped[int] = mapped_column(ForeignKey("runs.number", ondelete="CASCADE"))
    type: Mapped[str] = mapped_column(String(60))
    name: Mapped[str] = mapped_column(String(300))
    num_points: Mapped[int] = mapped_column(BigInteger, default=0)
    branch: Mapped[int] = mapped_column(default=1)
    """Of the last point, as `step`, `epoch`, `at` (seconds since 1970) and `last`."""

    step: Mapped[int] = mapped_column(BigInteger, default=0)
    epoch: Mapped[float | None] = mapped_column(Float)
    at: Mapped[float] = mapped_column(Float, default=0.0)
    last: Mapped[float | None] = mapped_column(Float)
    """None when it is no finite number."""

    low: Mapped[float | None] = mapped_column(Float)
    high: Mapped[float | None] = mapped_column(Float)


class ChunkRow(Base):
    """Points of one series from one stretch of one journal, in a pack."""

    __tablename__ = "run_chunks"

    series: Mapped[int] = mapped_column(ForeignKey("run_series.id", ondelete="CASCADE"), primary_key=True)
    journal: Mapped[str] = mapped_column(String(80), primary_key=True)
    start: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    """Where in the journal the pack begins: its name."""

    branch: Mapped[int] = mapped_column(primary_key=True)
    at: Mapped[int] = mapped_column(BigInteger)
    """Where in the pack the chunk begins."""

    num_points: Mapped[int]
    num_thin: Mapped[int]
    low_step: Mapped[int] = mapped_column(BigInteger)
    high_step: Mapped[int] = mapped_column(BigInteger)


class MediaRow(Base):
    """An image, a text or a histogram; its bytes stay in the journal."""

    __tablename__ = "run_media"

    run: Mapped[int] = mapped_column(ForeignKey("runs.number", ondelete="CASCADE"), primary_key=True)
    journal: Mapped[str] = mapped_column(String(80), primary_key=True)
    start: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    """Where its record begins."""

    num_parts: Mapped[int]
    """In how many records, one after the other, its bytes lie."""

    kind: Mapped[str] = mapped_column(String(20))
    type: Mapped[str] = mapped_column(String(60))
    name: Mapped[str] = mapped_column(String(300))
    format: Mapped[str] = mapped_column(String(100))
    step: Mapped[int | None] = mapped_column(BigInteger)
    epoch: Mapped[float | None] = mapped_column(Float)
    at: Mapped[float] = mapped_column(Float)


class RunOutputRow(Base):
    """A stretch of a journal with lines that the run printed; the text is read from there."""

    __tablename__ = "run_output"

    run: Mapped[int] = mapped_column(ForeignKey("runs.number", ondelete="CASCADE"), primary_key=True)
    journal: Mapped[str] = mapped_column(String(80), primary_key=True)
    start: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    end: Mapped[int] = mapped_column(BigInteger)
    first: Mapped[int] = mapped_column(BigInteger)
    """How many bytes this journal's writer had printed before."""

    size: Mapped[int] = mapped_column(BigInteger)
