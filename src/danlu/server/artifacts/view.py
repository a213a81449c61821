"""From rows to what people see of artifacts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy.orm import Session

from danlu.store.queries import artifacts, people
from danlu.store.sql.artifact_tables import ArtifactRow, ArtifactVersionRow
from danlu.wire.artifacts import ArtifactOut, VersionOut


def artifacts_out(session: Session, rows: Sequence[ArtifactRow]) -> list[ArtifactOut]:
    """Artifacts with their newest versions, with three queries for all of them."""
    projects = people.projects_by_id(session)
    latest = artifacts.latest_of(session, [row.number for row in rows])
    owners = people.names_of_users(session, {row.owner_id for row in latest.values()})
    return [
        ArtifactOut(
            name=row.name,
            project=projects[row.project_id],
            labels=row.labels,
            description=row.description,
            latest=_version(latest[row.number], row, projects, owners) if row.number in latest else None,
            created_at=row.created_at,
        )
        for row in rows
    ]


def versions_out(session: Session, artifact: ArtifactRow, rows: Sequence[ArtifactVersionRow]) -> list[VersionOut]:
    """Versions of one artifact."""
    projects = people.projects_by_id(session)
    owners = people.names_of_users(session, {row.owner_id for row in rows})
    return [_version(row, artifact, projects, owners) for row in rows]


def version_out(session: Session, row: ArtifactVersionRow) -> VersionOut:
    artifact = artifacts.get_artifact(session, row.artifact)
    assert artifact is not None  # a foreign key
    return versions_out(session, artifact, [row])[0]


def _version(
    row: ArtifactVersionRow, artifact: ArtifactRow, projects: Mapping[int, str], owners: Mapping[int, str]
) -> VersionOut:
    return VersionOut(
        id=row.id,
        name=artifact.name,
        project=projects[artifact.project_id],
        version=row.version,
        manifest=row.manifest,
        size=row.size,
        num_files=row.num_files,
        num_references=row.num_references,
        labels=row.labels,
        aliases=row.aliases,
        description=row.description,
        owner=owners.get(row.owner_id, ""),
        run=row.run_id,
        job=row.job_id,
        made_at=row.made_at,
        created_at=row.created_at,
    )
