"""Models as users see them, and versions side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy.orm import Session

from danlu.spec.paths import StorePath
from danlu.store.queries import flow, models, people
from danlu.store.sql.flow_tables import FlowNodeRow
from danlu.store.sql.model_tables import ModelRow, ModelVersionRow
from danlu.wire.models import ComparedRow, Environment, ModelComparison, ModelOut, ModelVersionOut

STORE = "store://"
_FACTS: dict[str, Callable[[ModelVersionOut], Any]] = {
    "aliases": lambda one: ", ".join(one.aliases) or None,
    "source": lambda one: one.source,
    "format": lambda one: one.format or None,
    "framework": lambda one: one.framework or None,
    "image": lambda one: one.environment.image,
    "command": lambda one: one.environment.command,
    "size": lambda one: one.size,
    "num_files": lambda one: one.num_files,
    "owner": lambda one: one.owner,
    "created_at": lambda one: one.created_at.isoformat(),
}


def models_out(session: Session, rows: Sequence[ModelRow]) -> list[ModelOut]:
    """Models for a list, with few queries for all of them."""
    numbers = [row.number for row in rows]
    latest = models.latest_of(session, numbers)
    counts = models.num_versions(session, numbers)
    aliases = models.aliases_of(session, numbers)
    shown = {one.id: one for one in versions_out(session, list(latest.values()))}
    projects = people.projects_by_id(session)
    return [
        ModelOut(
            id=row.id,
            name=row.name,
            project=projects[row.project_id],
            description=row.description,
            tags=row.tags,
            num_versions=counts.get(row.number, 0),
            aliases={alias: key[1] for key, words in aliases.items() if key[0] == row.number for alias in words},
            latest=shown[latest[row.number].id] if row.number in latest else None,
            created_at=row.created_at,
        )
        for row in rows
    ]


def model_out(session: Session, row: ModelRow) -> ModelOut:
    return models_out(session, [row])[0]


def versions_out(session: Session, rows: Sequence[ModelVersionRow]) -> list[ModelVersionOut]:
    found = {number: models.get_model(session, number) for number in {row.model for row in rows}}
    aliases = models.aliases_of(session, list(found))
    owners = people.names_of_users(session, {row.owner_id for row in rows})
    projects = people.projects_by_id(session)
    sources = flow.nodes_of(session, [row.source for row in rows])
    shown = []
    for row in rows:
        model = found[row.model]
        assert model is not None  # a foreign key
        shown.append(
            ModelVersionOut(
                id=row.id,
                model=model.name,
                project=projects[model.project_id],
                version=row.version,
                aliases=aliases.get((row.model, row.version), []),
                source=row.source,
                source_name=_name_of(row, model, sources),
                job=row.job_id,
                run=row.run_id,
                artifact=row.artifact_id,
                path=None if row.bucket is None else str(StorePath(row.bucket, row.key)),
                is_copied=row.is_copied,
                size=row.size,
                num_files=row.num_files,
                format=row.format,
                framework=row.framework,
                environment=Environment.model_validate(row.environment),
                metrics=row.metrics,
                hparams=row.hparams,
                tags=row.tags,
                description=row.description,
                owner=owners[row.owner_id],
                created_at=row.created_at,
            )
        )
    return shown


def _name_of(row: ModelVersionRow, model: ModelRow, sources: Mapping[str, FlowNodeRow]) -> str:
    """Name of its source. Names in other projects are left out: users who see the model may not see those projects."""
    if row.source.startswith(STORE):
        return row.source
    node = sources.get(row.source)
    return node.label if node is not None and node.project_id == model.project_id else ""


def version_out(session: Session, row: ModelVersionRow) -> ModelVersionOut:
    return versions_out(session, [row])[0]


def compare(versions: Sequence[ModelVersionOut]) -> ModelComparison:
    """Versions side by side. Pure."""
    return ModelComparison(
        versions=list(versions),
        facts=[_row(name, [read(one) for one in versions]) for name, read in _FACTS.items()],
        metrics=_rows([one.metrics for one in versions]),
        hparams=_rows([flat(one.hparams) for one in versions]),
    )


def flat(values: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Nested values by dotted names."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        name = f"{before}{key}"
        found.update(flat(value, f"{name}.") if isinstance(value, dict) and value else {name: value})
    return found


def _rows(columns: Sequence[Mapping[str, Any]]) -> list[ComparedRow]:
    names = sorted({name for column in columns for name in column})
    return [_row(name, [column.get(name) for column in columns]) for name in names]


def _row(name: str, values: Iterable[Any]) -> ComparedRow:
    shown = list(values)
    return ComparedRow(name=name, values=shown, is_same=all(value == shown[0] for value in shown))
