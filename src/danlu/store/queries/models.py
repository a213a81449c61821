"""Models and their versions in SQL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, delete, func, or_, select
from sqlalchemy.orm import Session

from danlu.spec.paths import StorePath
from danlu.store.queries import used_names
from danlu.store.queries.flow_paths import above, forms
from danlu.store.queries.used_names import Versioned
from danlu.store.sql.model_tables import ModelAliasRow, ModelRow, ModelVersionRow


@dataclass(frozen=True, slots=True)
class ModelFilter:
    project_ids: Sequence[int] | None = None
    """None: all projects."""

    text: str = ""
    """Text in the name."""

    tags: Sequence[tuple[str, str]] = ()


def add_model(session: Session, row: ModelRow) -> None:
    """Add a model; its versions continue from those of a deleted model of the same name."""
    row.last_version = used_names.last_version(session, Versioned.MODEL, project_id=row.project_id, name=row.name)
    session.add(row)
    session.flush()


def find_model(session: Session, project_id: int, name: str) -> ModelRow | None:
    return session.scalar(select(ModelRow).where(ModelRow.project_id == project_id, ModelRow.name == name))


def models_named(session: Session, project_ids: Sequence[int] | None, name: str) -> Sequence[ModelRow]:
    """Models with that name or id in these projects, oldest first."""
    query = select(ModelRow).where(or_(ModelRow.name == name, ModelRow.id == name))
    if project_ids is not None:
        query = query.where(ModelRow.project_id.in_(project_ids))
    return session.scalars(query.order_by(ModelRow.number).limit(100)).all()


def get_model(session: Session, number: int) -> ModelRow | None:
    return session.get(ModelRow, number)


def list_models(session: Session, wanted: ModelFilter, *, before: int | None, limit: int) -> Sequence[ModelRow]:
    """Newest first, below the number `before`."""
    conditions: list[ColumnElement[bool]] = []
    if wanted.project_ids is not None:
        conditions.append(ModelRow.project_id.in_(wanted.project_ids))
    if wanted.text:
        conditions.append(ModelRow.name.icontains(wanted.text, autoescape=True))
    conditions += [ModelRow.tags[key].as_string() == value for key, value in wanted.tags]
    if before is not None:
        conditions.append(ModelRow.number < before)
    query = select(ModelRow).where(*conditions)
    return session.scalars(query.order_by(ModelRow.number.desc()).limit(limit)).all()


def num_in_project(session: Session, project_id: int) -> int:
    return session.scalar(select(func.count()).where(ModelRow.project_id == project_id)) or 0


def delete_model(session: Session, row: ModelRow) -> None:
    """Delete a model without versions. Its version numbers are not reused."""
    used_names.remember_version(
        session, Versioned.MODEL, project_id=row.project_id, name=row.name, last_version=row.last_version
    )
    session.execute(delete(ModelAliasRow).where(ModelAliasRow.model == row.number))
    session.delete(row)
    session.flush()


def add_version(session: Session, model: ModelRow, row: ModelVersionRow) -> None:
    """Assign the next version number. Writers are serialized, so numbers are unique."""
    session.refresh(model)
    model.last_version += 1
    row.version = model.last_version
    session.add(row)
    session.flush()


def get_version(session: Session, version_id: str) -> ModelVersionRow | None:
    return session.scalar(select(ModelVersionRow).where(ModelVersionRow.id == version_id))


def version_of(session: Session, model: int, version: int) -> ModelVersionRow | None:
    query = select(ModelVersionRow).where(ModelVersionRow.model == model, ModelVersionRow.version == version)
    return session.scalar(query)


def list_versions(session: Session, model: int, *, before: int | None, limit: int) -> Sequence[ModelVersionRow]:
    """Newest first, below the version `before`."""
    query = select(ModelVersionRow).where(ModelVersionRow.model == model)
    if before is not None:
        query = query.where(ModelVersionRow.version < before)
    return session.scalars(query.order_by(ModelVersionRow.version.desc()).limit(limit)).all()


def versions_of(session: Session, models: Sequence[int], *, limit: int) -> Sequence[ModelVersionRow]:
    """Versions of several models, model by model, newest first."""
    found: list[ModelVersionRow] = []
    for first in range(0, len(models), 500):
        some = models[first : first + 500]
        query = select(ModelVersionRow).where(ModelVersionRow.model.in_(some))
        query = query.order_by(ModelVersionRow.model.desc(), ModelVersionRow.version.desc()).limit(limit - len(found))
        found += session.scalars(query)
    return found


def latest_of(session: Session, numbers: Sequence[int]) -> dict[int, ModelVersionRow]:
    """Model -> its newest version."""
    found: dict[int, ModelVersionRow] = {}
    for first in range(0, len(numbers), 500):
        newest = (
            select(func.max(ModelVersionRow.number))
            .where(ModelVersionRow.model.in_(numbers[first : first + 500]))
            .group_by(ModelVersionRow.model)
        )
        query = select(ModelVersionRow).where(ModelVersionRow.number.in_(newest))
        found.update((row.model, row) for row in session.scalars(query))
    return found


def num_versions(session: Session, numbers: Sequence[int]) -> dict[int, int]:
    """Model -> number of versions."""
    found: dict[int, int] = {}
    for first in range(0, len(numbers), 500):
        query = select(ModelVersionRow.model, func.count()).where(
            ModelVersionRow.model.in_(numbers[first : first + 500])
        )
        found.update((row[0], row[1]) for row in session.execute(query.group_by(ModelVersionRow.model)))
    return found


def delete_version(session: Session, row: ModelVersionRow) -> None:
    """Delete a version and its aliases."""
    session.execute(delete(ModelAliasRow).where(ModelAliasRow.model == row.model, ModelAliasRow.version == row.version))
    session.delete(row)
    session.flush()


def aliases_of(session: Session, models: Sequence[int]) -> dict[tuple[int, int], list[str]]:
    """(model, version) -> its aliases."""
    found: dict[tuple[int, int], list[str]] = {}
    for first in range(0, len(models), 500):
        query = select(ModelAliasRow).where(ModelAliasRow.model.in_(models[first : first + 500]))
        for row in session.scalars(query.order_by(ModelAliasRow.alias)):
            found.setdefault((row.model, row.version), []).append(row.alias)
    return found


def get_alias(session: Session, model: int, alias: str) -> ModelAliasRow | None:
    return session.get(ModelAliasRow, (model, alias))


def set_alias(session: Session, model: int, alias: str, version: int) -> int | None:
    """Move an alias to a version; return the previous one."""
    row = session.get(ModelAliasRow, (model, alias), populate_existing=True)
    before = None if row is None else row.version
    if row is None:
        session.add(ModelAliasRow(model=model, alias=alias, version=version))
    else:
        row.version = version
    session.flush()
    return before


def delete_alias(session: Session, row: ModelAliasRow) -> None:
    session.delete(row)
    session.flush()


def of_job(session: Session, job_id: str) -> Sequence[tuple[ModelVersionRow, ModelRow]]:
    """Versions registered from a job, oldest first."""
    query = select(ModelVersionRow, ModelRow).join(ModelRow, ModelRow.number == ModelVersionRow.model)
    found = session.execute(query.where(ModelVersionRow.job_id == job_id).order_by(ModelVersionRow.number).limit(100))
    return [(row[0], row[1]) for row in found]


def of_artifact(session: Session, artifact_id: str) -> Sequence[tuple[ModelVersionRow, ModelRow]]:
    """Versions that use the files of an artifact."""
    query = select(ModelVersionRow, ModelRow).join(ModelRow, ModelRow.number == ModelVersionRow.model)
    found = session.execute(
        query.where(ModelVersionRow.artifact_id == artifact_id, ModelVersionRow.bucket.is_(None)).limit(10)
    )
    return [(row[0], row[1]) for row in found]


def copies_around(session: Session, path: StorePath, bucket_id: str) -> Sequence[ModelVersionRow]:
    """Versions whose own files are at a path or in a folder above it."""
    query = select(ModelVersionRow).where(
        ModelVersionRow.bucket == path.bucket,
        ModelVersionRow.bucket_id == bucket_id,
        ModelVersionRow.is_copied.is_(True),
        ModelVersionRow.key.in_([*above(path.key), *forms(path.key)]),
    )
    return session.scalars(query.limit(100)).all()


def others_at(session: Session, row: ModelVersionRow) -> Sequence[ModelVersionRow]:
    """Other versions whose files overlap with these."""
    bare = row.key.rstrip("/")
    query = select(ModelVersionRow).where(
        ModelVersionRow.bucket == row.bucket,
        ModelVersionRow.bucket_id == row.bucket_id,
        ModelVersionRow.number != row.number,
        or_(
            ModelVersionRow.key.in_(["", *above(row.key), *forms(row.key)]),
            ModelVersionRow.key.startswith(f"{bare}/", autoescape=True),
        ),
    )
    return session.scalars(query.limit(10)).all()
