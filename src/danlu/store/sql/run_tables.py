"""Tables of runs, their folders and the index of their metrics. Points are in packs and journals."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, Float, ForeignKey, Index, Integer, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from danlu.store.sql.tables import Base

_Number = BigInteger().with_variant(Integer, "sqlite")  # SQLite generates ids for INTEGER keys only


class RunRow(Base):
    __tablename__ = "runs"
    __table_args__ = (
        Index("runs_by_project", "project_id", "number"),
        Index("runs_by_folder", "project_id", "folder", "number"),
        Index("runs_by_job", "job_id"),
        Index("runs_by_state", "state", "seen_at"),
        Index("runs_by_parent", "parent"),
    )

    number: Mapped[int] = mapped_column(_Number, primary_key=True, autoincrement=True)
    """Increases with every run; lists are in this order."""

    id: Mapped[str] = mapped_column(String(40), unique=True)
    """Created by the client, so that a repeated request creates no second run."""

    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id"))
    owner_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    folder: Mapped[str] = mapped_column(String(500))
    """Path within the project, such as vision/lr-search; empty at the top."""

    name: Mapped[str] = mapped_column(String(200))
    state: Mapped[str] = mapped_column(String(20))
    job_id: Mapped[str | None] = mapped_column(String(40))
    attempt: Mapped[int | None]
    is_own: Mapped[bool] = mapped_column(default=False)
    """Whether this is the job's own run."""

    labels: Mapped[list[Any]]
    description: Mapped[str] = mapped_column(Text, default="")
    group: Mapped[str | None] = mapped_column("group_name", String(200))
    """A word that several runs share."""

    parent: Mapped[str | None] = mapped_column(String(40))
    """Id of the parent run, which may be in another project or not exist yet."""

    axes: Mapped[dict[str, Any]] = mapped_column(default=dict)
    """Metric -> metric of its X axis, as type/name; a key may end in `*`, which matches any text."""

    hparams: Mapped[dict[str, Any]]
    summary: Mapped[dict[str, Any]]
    info: Mapped[dict[str, Any]] = mapped_column(deferred=True)
    """Captured environment: command, host, packages, git with its diff. Up to 2 MiB, so lists do not load it."""

    set_at: Mapped[dict[str, Any]]
    """Field or key -> [branch, time] of its record: journals may arrive in any order."""

    branch: Mapped[int] = mapped_column(default=1)
    """The newest branch."""

    step: Mapped[int | None] = mapped_column(BigInteger)
    """Step of the last point, machine usage excluded; `epoch` likewise."""

    epoch: Mapped[float | None] = mapped_column(Float)
    total_steps: Mapped[int | None] = mapped_column(BigInteger)
    num_points: Mapped[int] = mapped_column(BigInteger, default=0)
    created_at: Mapped[datetime]
    started_at: Mapped[datetime]
    ended_at: Mapped[datetime | None]
    seen_at: Mapped[datetime]
    """Time of the last data."""

    deleted_at: Mapped[datetime | None]
    """When it was moved to the trash."""

    version: Mapped[int] = mapped_column(default=0)
    """Increases with every visible change."""


class RunFolderRow(Base):
    """A folder of runs in a project. Parent folders have their own rows."""

    __tablename__ = "run_folders"

    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"), primary_key=True)
    path: Mapped[str] = mapped_column(String(500), primary_key=True)
    created_at: Mapped[datetime]


class RunValueRow(Base):
    """A searchable value of a run: a hyperparameter, a summary value or a metric's aggregate."""

    __tablename__ = "run_values"
    __table_args__ = (Index("run_values_by_key", "key", "num"),)

    run: Mapped[int] = mapped_column(ForeignKey("runs.number", ondelete="CASCADE"), primary_key=True)
    key: Mapped[str] = mapped_column(String(400), primary_key=True)
    """As in filters: metrics.val.acc, hparams.lr, summary.best"""

    num: Mapped[float | None] = mapped_column(Float)
    """The value, or the last one of a metric, infinity too. NaN is None; `text` is then nan."""

    low: Mapped[float | None] = mapped_column(Float)
    high: Mapped[float | None] = mapped_column(Float)
    text: Mapped[str | None] = mapped_column(String(500))


class JournalRow(Base):
    """A journal: how much of it has arrived and was ingested."""

    __tablename__ = "run_journals"

    run: Mapped[int] = mapped_column(ForeignKey("runs.number", ondelete="CASCADE"), primary_key=True)
    name: Mapped[str] = mapped_column(String(80), primary_key=True)
    offset: Mapped[int] = mapped_column(BigInteger, default=0)
    """Durable bytes."""

    ingested: Mapped[int] = mapped_column("noted", BigInteger, default=0)
    """Ingested bytes; the column has an older name."""

    built: Mapped[int] = mapped_column(BigInteger, default=0)
    """Bytes whose points are in packs."""

    ingested_branch: Mapped[int] = mapped_column("noted_branch", default=1)
    """Branch of the next points, at `ingested`."""

    built_branch: Mapped[int] = mapped_column(default=1)
    layouts: Mapped[dict[str, Any]]
    """Number -> [type, names] of the layouts before `ingested`."""

    branch: Mapped[int] = mapped_column(default=1)
    """The first branch."""

    writer: Mapped[str] = mapped_column(String(20), default="process")
    rank: Mapped[int] = mapped_column(default=0)
    finish: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    """Recorded end: state, time, reason."""

    output_bytes: Mapped[int] = mapped_column(BigInteger, default=0)
    num_damaged: Mapped[int] = mapped_column(default=0)
    """Number of invalid records; they are skipped."""


class BranchRow(Base):
    """A branch of a run: from `from_step` on it supersedes older branches."""

    __tablename__ = "run_branches"

    run: Mapped[int] = mapped_column(ForeignKey("runs.number", ondelete="CASCADE"), primary_key=True)
    branch: Mapped[int] = mapped_column(primary_key=True)
    said_step: Mapped[int | None] = mapped_column(BigInteger)
    """Recorded first step."""

    first_step: Mapped[int | None] = mapped_column(BigInteger)
    """Smallest step of its points; None without points."""


class SeriesRow(Base):
    """Aggregates of a metric of a run."""

    __tablename__ = "run_series"
    __table_args__ = (UniqueConstraint("run", "type", "name"),)

    id: Mapped[int] = mapped_column(_Number, primary_key=True, autoincrement=True)
    run: Mapped[int] = mapped_column(ForeignKey("runs.number", ondelete="CASCADE"))
    type: Mapped[str] = mapped_column(String(60))
    name: Mapped[str] = mapped_column(String(300))
    num_points: Mapped[int] = mapped_column(BigInteger, default=0)
    branch: Mapped[int] = mapped_column(default=1)
    """Branch of the last point; likewise `step`, `epoch`, `at` (seconds since 1970) and `last`."""

    step: Mapped[int] = mapped_column(BigInteger, default=0)
    epoch: Mapped[float | None] = mapped_column(Float)
    at: Mapped[float] = mapped_column(Float, default=0.0)
    last: Mapped[float | None] = mapped_column(Float)
    """None if it is not finite; then `odd` is nan, inf or -inf."""

    odd: Mapped[str | None] = mapped_column(String(4))
    low: Mapped[float | None] = mapped_column(Float)
    high: Mapped[float | None] = mapped_column(Float)


class ChunkRow(Base):
    """Points of one series in a pack, from one range of a journal."""

    __tablename__ = "run_chunks"

    series: Mapped[int] = mapped_column(ForeignKey("run_series.id", ondelete="CASCADE"), primary_key=True)
    journal: Mapped[str] = mapped_column(String(80), primary_key=True)
    start: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    """Journal offset of the pack, which is its name."""

    branch: Mapped[int] = mapped_column(primary_key=True)
    at: Mapped[int] = mapped_column(BigInteger)
    """Offset of the chunk in the pack."""

    num_points: Mapped[int]
    num_thin: Mapped[int]
    low_step: Mapped[int] = mapped_column(BigInteger)
    high_step: Mapped[int] = mapped_column(BigInteger)


class MediaRow(Base):
    """An image, text or histogram; its bytes are in the journal."""

    __tablename__ = "run_media"

    run: Mapped[int] = mapped_column(ForeignKey("runs.number", ondelete="CASCADE"), primary_key=True)
    journal: Mapped[str] = mapped_column(String(80), primary_key=True)
    start: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    """Offset of its first record."""

    num_parts: Mapped[int]
    """Number of consecutive records with its bytes."""

    kind: Mapped[str] = mapped_column(String(20))
    type: Mapped[str] = mapped_column(String(60))
    name: Mapped[str] = mapped_column(String(300))
    format: Mapped[str] = mapped_column(String(100))
    step: Mapped[int | None] = mapped_column(BigInteger)
    epoch: Mapped[float | None] = mapped_column(Float)
    at: Mapped[float] = mapped_column(Float)


class RunAlertRow(Base):
    """An alert that a script sent with `run.alert`."""

    __tablename__ = "run_alerts"
    __table_args__ = (Index("run_alerts_by_run", "run", "number"), Index("run_alerts_by_state", "state", "number"))

    number: Mapped[int] = mapped_column(_Number, primary_key=True, autoincrement=True)
    run: Mapped[int] = mapped_column(ForeignKey("runs.number", ondelete="CASCADE"))
    title: Mapped[str] = mapped_column(String(200))
    text: Mapped[str] = mapped_column(Text)
    level: Mapped[str] = mapped_column(String(10))
    """info, warning or error"""

    step: Mapped[int | None] = mapped_column(BigInteger)
    at: Mapped[float] = mapped_column(Float)
    """Seconds since 1970, by the clock of the script."""

    state: Mapped[str] = mapped_column(String(10))
    """See danlu.store.queries.monitoring.run_alerts."""

    told_at: Mapped[datetime | None]


class RunOutputRow(Base):
    """A range of a journal with output of the run."""

    __tablename__ = "run_output"

    run: Mapped[int] = mapped_column(ForeignKey("runs.number", ondelete="CASCADE"), primary_key=True)
    journal: Mapped[str] = mapped_column(String(80), primary_key=True)
    start: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    end: Mapped[int] = mapped_column(BigInteger)
    first: Mapped[int] = mapped_column(BigInteger)
    """Number of output bytes before this range."""

    size: Mapped[int] = mapped_column(BigInteger)
