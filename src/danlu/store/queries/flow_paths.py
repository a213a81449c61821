"""Store paths in the data flow: which contain a path, and which it contains."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import ColumnElement, select, update
from sqlalchemy.orm import Session

from danlu.spec.flow import NodeKind
from danlu.spec.paths import StorePath
from danlu.store.sql.flow_tables import FlowNodeRow

MAX_AROUND = 1000


def forms(key: str) -> list[str]:
    """Both spellings of a path, with and without a final slash."""
    bare = key.rstrip("/")
    return [bare, f"{bare}/"]


def above(key: str) -> list[str]:
    """Parent folders of a path, the bucket first."""
    parts = key.rstrip("/").split("/")
    return [form for depth in range(1, len(parts)) for form in forms("/".join(parts[:depth]))]


def is_below(folder: str) -> ColumnElement[bool]:
    """Whether a key is below this folder: a range of the index, as keys are compared by bytes."""
    return (FlowNodeRow.key >= folder) & (FlowNodeRow.key < f"{folder[:-1]}{chr(ord('/') + 1)}")


def around(session: Session, path: StorePath) -> Sequence[StorePath]:
    """Existing paths at, above and below one."""
    key = f"{path.bucket}/{path.key}"
    query = select(FlowNodeRow.key).where(FlowNodeRow.kind == NodeKind.STORE.value, FlowNodeRow.deleted_at.is_(None))
    here = session.scalars(query.where(FlowNodeRow.key.in_([*above(key), *forms(key)])))
    lower = query.where(is_below(f"{key.rstrip('/')}/")).order_by(FlowNodeRow.key).limit(MAX_AROUND)
    found = dict.fromkeys([*here, *session.scalars(lower)])
    return [StorePath(*text.split("/", 1)) if "/" in text else StorePath(text, "") for text in found]


def revive(session: Session, path: StorePath) -> None:
    """Restore paths at and above a new file."""
    key = f"{path.bucket}/{path.key}"
    query = update(FlowNodeRow).where(
        FlowNodeRow.kind == NodeKind.STORE.value,
        FlowNodeRow.key.in_([*above(key), *forms(key)]),
        FlowNodeRow.deleted_at.is_not(None),
    )
    session.execute(query.values(deleted_at=None))
