"""The tables; each class is a row."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

from sqlalchemy import JSON, BigInteger, DateTime, Float, ForeignKey, Index, LargeBinary, String, Text, UniqueConstraint
from sqlalchemy.engine import Dialect
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
from sqlalchemy.types import TypeDecorator


class UtcDateTime(TypeDecorator[datetime]):
    """Aware UTC times, also on databases without time zones."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        return None if value is None else value.astimezone(timezone.utc)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        if value is None or value.tzinfo is not None:
            return value
        return value.replace(tzinfo=timezone.utc)


class Base(DeclarativeBase):
    type_annotation_map = {datetime: UtcDateTime, dict[str, Any]: JSON, list[Any]: JSON}


class UserRow(Base):
    __tablename__ = "users"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(100), unique=True)
    password_hash: Mapped[str | None] = mapped_column(String(200))
    is_admin: Mapped[bool] = mapped_column(default=False)
    is_active: Mapped[bool] = mapped_column(default=True)
    """False while the user is disabled."""

    created_at: Mapped[datetime]
    full_name: Mapped[str] = mapped_column(String(200), default="", server_default="")
    email: Mapped[str] = mapped_column(String(200), default="", server_default="")
    signed_in_at: Mapped[datetime | None]
    """Last sign-in; None for an invited user who has not signed in."""

    default_project_id: Mapped[int | None]
    """The project of jobs that name none: the first one joined, until the user chooses another. No foreign key: project
    ids are not reused, and a deleted project is reported on use."""


class RegistrationRow(Base):
    """A request for an account. Several may ask for one name: admins see it, applicants do not."""

    __tablename__ = "registrations"

    id: Mapped[str] = mapped_column(String(16), primary_key=True)
    name: Mapped[str] = mapped_column(String(100))
    full_name: Mapped[str] = mapped_column(String(200))
    email: Mapped[str] = mapped_column(String(200))
    note: Mapped[str] = mapped_column(Text)
    password_hash: Mapped[str | None] = mapped_column(String(200))
    issuer: Mapped[str | None] = mapped_column(String(400))
    subject: Mapped[str | None] = mapped_column(String(255))
    """Issuer and subject of OpenID Connect."""

    address: Mapped[str] = mapped_column(String(64))
    created_at: Mapped[datetime]


class OidcAccountRow(Base):
    """A user's identity at an OpenID Connect provider. Subjects are never reassigned; mail addresses are."""

    __tablename__ = "oidc_accounts"

    issuer: Mapped[str] = mapped_column(String(400), primary_key=True)
    subject: Mapped[str] = mapped_column(String(255), primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)


class FailureRow(Base):
    """Recent failed sign-ins, counted by user or address. The key is a digest."""

    __tablename__ = "failures"

    key: Mapped[str] = mapped_column(String(64), primary_key=True)
    count: Mapped[int]
    last_at: Mapped[datetime] = mapped_column(index=True)


class FamiliarRow(Base):
    """An address from which a user has signed in."""

    __tablename__ = "familiar_addresses"

    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    address: Mapped[str] = mapped_column(String(64), primary_key=True)
    last_at: Mapped[datetime]


class ApiKeyRow(Base):
    __tablename__ = "api_keys"

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    name: Mapped[str] = mapped_column(String(100))
    digest: Mapped[str] = mapped_column(String(64))
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime | None]
    last_used_at: Mapped[datetime | None]


class SessionRow(Base):
    """A browser session."""

    __tablename__ = "sessions"

    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    csrf: Mapped[str] = mapped_column(String(64))
    expires_at: Mapped[datetime]


class SignInLinkRow(Base):
    """A one-time sign-in link."""

    __tablename__ = "sign_in_links"

    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    expires_at: Mapped[datetime]


class ProjectRow(Base):
    __tablename__ = "projects"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(100), unique=True)
    description: Mapped[str] = mapped_column(Text, default="", server_default="")
    created_at: Mapped[datetime | None]
    archived_at: Mapped[datetime | None]
    """An archived project is read-only."""


class MemberRow(Base):
    __tablename__ = "members"

    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"), primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    role: Mapped[str] = mapped_column(String(20))


class QuotaRow(Base):
    """Quota of a project, or of a user in it. No row: no limit."""

    __tablename__ = "quotas"

    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"), primary_key=True)
    user_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    """0: the quota of the whole project."""

    resource: Mapped[str] = mapped_column(String(40), primary_key=True)
    """A device type, `cpus` or `memory` (in bytes)."""

    amount: Mapped[float] = mapped_column(Float)


class BucketRow(Base):
    __tablename__ = "buckets"

    name: Mapped[str] = mapped_column(String(63), primary_key=True)
    id: Mapped[str] = mapped_column(String(32), default="", server_default="")
    """Random and never reused, so that rights to a bucket do not apply to a later one of the same name."""

    place: Mapped[str] = mapped_column(String(63), default="", server_default="")
    """Where its objects are in the object store: its name, or a unique one if that was used before."""

    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id"))
    created_at: Mapped[datetime]


class UploadRow(Base):
    """A resumable upload."""

    __tablename__ = "uploads"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    owner: Mapped[str] = mapped_column(String(80), index=True)
    """Owner: a user or an attempt."""

    bucket: Mapped[str] = mapped_column(String(63))
    bucket_id: Mapped[str] = mapped_column(String(32), default="", server_default="")
    place: Mapped[str] = mapped_column(String(63), default="", server_default="")
    """Place of the bucket when the upload began, like `bucket_id`."""

    key: Mapped[str] = mapped_column(Text)
    size: Mapped[int] = mapped_column(BigInteger)
    sha256: Mapped[str] = mapped_column(String(64))
    service_id: Mapped[str | None] = mapped_column(Text)
    """Id of the multipart upload at the object service, for direct transfers."""

    created_at: Mapped[datetime]


class FactRow(Base):
    """A value that all servers on this database must share."""

    __tablename__ = "facts"

    name: Mapped[str] = mapped_column(String(40), primary_key=True)
    value: Mapped[str] = mapped_column(Text)


class BlobOwnerRow(Base):
    """A project that has sent these bytes. Bytes are stored once, but only projects that sent them may use them."""

    __tablename__ = "blob_owners"

    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"), primary_key=True)
    digest: Mapped[str] = mapped_column(String(64), primary_key=True, index=True)
    added_at: Mapped[datetime]
    size: Mapped[int | None] = mapped_column(BigInteger)
    """None if unknown."""

    num_refs: Mapped[int] = mapped_column(default=0, server_default="0")
    """Number of manifests of the project that refer to it; or `blobs.COMING`, `blobs.GOING`."""


class JobRow(Base):
    __tablename__ = "jobs"
    __table_args__ = (
        UniqueConstraint("owner_id", "request_id"),
        Index("jobs_by_state", "state", "priority", "id"),
        Index("jobs_by_name", "name", "id"),
        Index("jobs_by_project", "project_id", "id"),
    )

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id"))
    owner_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    request_id: Mapped[str | None] = mapped_column(String(64))
    name: Mapped[str] = mapped_column(String(100))
    engine: Mapped[str] = mapped_column(String(40))
    spec: Mapped[dict[str, Any]]
    terms: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    """Flavor, framework and price at submission; None if the spec names none."""

    sealed_secrets: Mapped[bytes | None] = mapped_column(LargeBinary)
    output: Mapped[str] = mapped_column(Text)
    bucket_ids: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    """What the names in the spec referred to when the owner's rights were checked: name -> id, for buckets and for
    versions of artifacts and models; id of a model version -> location of its files."""

    state: Mapped[str] = mapped_column(String(20))
    desired: Mapped[str] = mapped_column(String(20))
    reason_code: Mapped[str] = mapped_column(String(40))
    reason_message: Mapped[str] = mapped_column(Text)
    priority: Mapped[int]
    attempt: Mapped[int] = mapped_column(default=0)
    """Number of the newest attempt; 0 before the first."""

    num_retries: Mapped[int] = mapped_column(default=0)
    not_before: Mapped[datetime | None]
    """Earliest start of a retry."""

    created_at: Mapped[datetime]
    queued_at: Mapped[datetime]
    started_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]
    version: Mapped[int] = mapped_column(default=0)
    """Increases with every visible change."""

    lock_token: Mapped[str | None] = mapped_column(String(40))
    lock_expires_at: Mapped[datetime | None]


class AttemptRow(Base):
    __tablename__ = "attempts"
    __table_args__ = (Index("attempts_by_state", "state"), Index("attempts_by_start", "started_at"))

    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    state: Mapped[str] = mapped_column(String(20))
    reason_code: Mapped[str] = mapped_column(String(40))
    reason_message: Mapped[str] = mapped_column(Text)
    placement: Mapped[dict[str, Any]]
    token_digest: Mapped[str | None] = mapped_column(String(64), unique=True)
    """Digest of the attempt's token; None once it is revoked."""

    is_started: Mapped[bool] = mapped_column(default=False)
    """Whether the engine confirmed the start; otherwise it is repeated."""

    notes: Mapped[list[Any]]
    has_logs: Mapped[bool] = mapped_column(default=True)
    """False once old logs were removed."""

    is_output_complete: Mapped[bool] = mapped_column(default=True)
    """False if output was not uploaded; then the task folders stay until the job is deleted."""

    first_failed_rank: Mapped[int | None]
    last_lines: Mapped[list[Any]]
    started_at: Mapped[datetime]
    ended_at: Mapped[datetime | None]


class TaskRow(Base):
    __tablename__ = "tasks"

    job_id: Mapped[str] = mapped_column(String(40), primary_key=True)
    attempt: Mapped[int] = mapped_column(primary_key=True)
    rank: Mapped[int] = mapped_column(primary_key=True)
    role: Mapped[str] = mapped_column(String(40))
    node: Mapped[str] = mapped_column(String(100))
    device_ids: Mapped[list[Any]]
    cpus: Mapped[float] = mapped_column(Float, default=0.0)
    memory_bytes: Mapped[int] = mapped_column(BigInteger, default=0)
    state: Mapped[str] = mapped_column(String(20))
    exit_code: Mapped[int | None]
    reason_code: Mapped[str] = mapped_column(String(40), default="")
    reason_message: Mapped[str] = mapped_column(Text, default="")
    log_bytes: Mapped[int] = mapped_column(BigInteger, default=0)
    """Stored length of the log."""

    started_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]


class DeviceClaimRow(Base):
    """A device in use. The primary key ensures that no device is assigned twice."""

    __tablename__ = "device_claims"
    __table_args__ = (Index("device_claims_by_job", "job_id", "attempt"),)

    node: Mapped[str] = mapped_column(String(100), primary_key=True)
    type: Mapped[str] = mapped_column(String(40), primary_key=True)
    device_id: Mapped[int] = mapped_column(primary_key=True)
    job_id: Mapped[str] = mapped_column(String(40))
    attempt: Mapped[int]
    rank: Mapped[int]


class EventRow(Base):
    __tablename__ = "events"
    __table_args__ = (Index("events_by_job", "job_id", "id"),)

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    job_id: Mapped[str] = mapped_column(String(40))
    attempt: Mapped[int]
    at: Mapped[datetime]
    kind: Mapped[str] = mapped_column(String(40))
    message: Mapped[str] = mapped_column(Text)


class LogSegmentRow(Base):
    """A segment of a rank's log."""

    __tablename__ = "log_segments"

    job_id: Mapped[str] = mapped_column(String(40), primary_key=True)
    attempt: Mapped[int] = mapped_column(primary_key=True)
    rank: Mapped[int] = mapped_column(primary_key=True)
    start: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    size: Mapped[int] = mapped_column(BigInteger)


class LogMarkRow(Base):
    """Length of the log at a time."""

    __tablename__ = "log_marks"

    job_id: Mapped[str] = mapped_column(String(40), primary_key=True)
    attempt: Mapped[int] = mapped_column(primary_key=True)
    rank: Mapped[int] = mapped_column(primary_key=True)
    offset: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    at: Mapped[datetime]


class NodeRow(Base):
    __tablename__ = "nodes"

    name: Mapped[str] = mapped_column(String(100), primary_key=True)
    engine: Mapped[str] = mapped_column(String(40))
    info: Mapped[dict[str, Any]]
    is_reachable: Mapped[bool] = mapped_column(default=True)
    seen_at: Mapped[datetime]
