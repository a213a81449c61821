"""Artifacts in SQL."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, String, cast, delete, func, select
from sqlalchemy.orm import Session

from danlu.store.queries import used_names
from danlu.store.queries.used_names import Versioned
from danlu.store.sql.artifact_tables import ArtifactRow, ArtifactUploadRow, ArtifactVersionRow


@dataclass(frozen=True, slots=True)
class ArtifactFilter:
    project_ids: Sequence[int] | None = None
    """None: all projects."""

    prefix: str = ""
    label: str | None = None


def find_artifact(session: Session, project_id: int, name: str) -> ArtifactRow | None:
    query = select(ArtifactRow).where(ArtifactRow.project_id == project_id, ArtifactRow.name == name)
    return session.scalar(query)


def artifacts_named(session: Session, project_ids: Sequence[int] | None, name: str) -> Sequence[ArtifactRow]:
    """Artifacts of that name in these projects, oldest first."""
    query = select(ArtifactRow).where(ArtifactRow.name == name)
    if project_ids is not None:
        query = query.where(ArtifactRow.project_id.in_(project_ids))
    return session.scalars(query.order_by(ArtifactRow.number).limit(100)).all()


def get_artifact(session: Session, number: int) -> ArtifactRow | None:
    return session.get(ArtifactRow, number)


def add_artifact(session: Session, row: ArtifactRow) -> None:
    """Add an artifact; its versions continue from those of a deleted artifact of the same name."""
    row.last_version = used_names.last_version(session, Versioned.ARTIFACT, project_id=row.project_id, name=row.name)
    session.add(row)
    session.flush()


def list_artifacts(
    session: Session, wanted: ArtifactFilter, *, before: int | None, limit: int
) -> Sequence[ArtifactRow]:
    """Newest first, below the number `before`."""
    conditions: list[ColumnElement[bool]] = []
    if wanted.project_ids is not None:
        conditions.append(ArtifactRow.project_id.in_(wanted.project_ids))
    if wanted.prefix:
        conditions.append(ArtifactRow.name.startswith(wanted.prefix, autoescape=True))
    if wanted.label is not None:
        # labels are a JSON list; comparing JSON texts needs no extra table
        conditions.append(cast(ArtifactRow.labels, String).contains(json.dumps(wanted.label), autoescape=True))
    if before is not None:
        conditions.append(ArtifactRow.number < before)
    query = select(ArtifactRow).where(*conditions)
    return session.scalars(query.order_by(ArtifactRow.number.desc()).limit(limit)).all()


def latest_of(session: Session, numbers: Sequence[int]) -> dict[int, ArtifactVersionRow]:
    """Artifact -> its newest version."""
    found: dict[int, ArtifactVersionRow] = {}
    for first in range(0, len(numbers), 500):
        newest = (
            select(ArtifactVersionRow.artifact, func.max(ArtifactVersionRow.version).label("version"))
            .where(ArtifactVersionRow.artifact.in_(numbers[first : first + 500]))
            .group_by(ArtifactVersionRow.artifact)
            .subquery()
        )
        query = select(ArtifactVersionRow).join(
            newest,
            (ArtifactVersionRow.artifact == newest.c.artifact) & (ArtifactVersionRow.version == newest.c.version),
        )
        found.update((row.artifact, row) for row in session.scalars(query))
    return found


def get_version(session: Session, version_id: str) -> ArtifactVersionRow | None:
    return session.scalar(select(ArtifactVersionRow).where(ArtifactVersionRow.id == version_id))


def versions_by_prefix(
    session: Session, prefix: str, project_ids: Sequence[int] | None, *, limit: int
) -> Sequence[ArtifactVersionRow]:
    """Versions whose ids begin with this prefix, newest first."""
    query = select(ArtifactVersionRow).where(ArtifactVersionRow.id.startswith(prefix, autoescape=True))
    if project_ids is not None:
        owner = ArtifactRow.number == ArtifactVersionRow.artifact
        query = query.join(ArtifactRow, owner).where(ArtifactRow.project_id.in_(project_ids))
    return session.scalars(query.order_by(ArtifactVersionRow.number.desc()).limit(limit)).all()


def version_of(session: Session, artifact: int, version: int) -> ArtifactVersionRow | None:
    query = select(ArtifactVersionRow).where(
        ArtifactVersionRow.artifact == artifact, ArtifactVersionRow.version == version
    )
    return session.scalar(query)


def with_alias(session: Session, artifact: int, alias: str) -> Sequence[ArtifactVersionRow]:
    query = select(ArtifactVersionRow).where(
        ArtifactVersionRow.artifact == artifact,
        cast(ArtifactVersionRow.aliases, String).contains(json.dumps(alias), autoescape=True),
    )
    return session.scalars(query.order_by(ArtifactVersionRow.version)).all()


def list_versions(session: Session, artifact: int, *, before: int | None, limit: int) -> Sequence[ArtifactVersionRow]:
    """Newest first, below the version `before`."""
    query = select(ArtifactVersionRow).where(ArtifactVersionRow.artifact == artifact)
    if before is not None:
        query = query.where(ArtifactVersionRow.version < before)
    return session.scalars(query.order_by(ArtifactVersionRow.version.desc()).limit(limit)).all()


def add_version(session: Session, row: ArtifactVersionRow) -> None:
    session.add(row)
    session.flush()


def delete_version(session: Session, row: ArtifactVersionRow) -> None:
    session.delete(row)
    session.flush()


def delete_artifact(session: Session, row: ArtifactRow) -> None:
    """Delete an artifact without versions. Its version numbers are not reused."""
    used_names.remember_version(
        session, Versioned.ARTIFACT, project_id=row.project_id, name=row.name, last_version=row.last_version
    )
    session.delete(row)
    session.flush()


def all_manifests(session: Session) -> Sequence[str]:
    return session.scalars(select(ArtifactVersionRow.manifest).distinct()).all()


def num_in_project(session: Session, project_id: int) -> int:
    return session.scalar(select(func.count()).where(ArtifactRow.project_id == project_id)) or 0


def get_upload(session: Session, upload_id: str) -> ArtifactUploadRow | None:
    return session.get(ArtifactUploadRow, upload_id)


def add_upload(session: Session, row: ArtifactUploadRow) -> None:
    session.add(row)
    session.flush()


def forget_upload(session: Session, upload_id: str, *, seen_before: datetime | None = None) -> None:
    statement = delete(ArtifactUploadRow).where(ArtifactUploadRow.id == upload_id)
    if seen_before is not None:
        statement = statement.where(ArtifactUploadRow.seen_at < seen_before)
    session.execute(statement)


def oldest_upload(session: Session, seen_since: datetime) -> datetime | None:
    """Start of the oldest unfinished upload."""
    query = select(func.min(ArtifactUploadRow.begun_at)).where(ArtifactUploadRow.seen_at >= seen_since)
    return session.scalar(query)


def uploads_last_seen_before(session: Session, moment: datetime) -> Sequence[ArtifactUploadRow]:
    return session.scalars(select(ArtifactUploadRow).where(ArtifactUploadRow.seen_at < moment).limit(10_000)).all()
