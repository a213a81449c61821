"""Rights hang on rows: ids of buckets, trees of projects, invitations, a default project of one's own.

Revision ID: 0012
Revises: 0011
"""

from __future__ import annotations

import json
import secrets

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

_OPEN = ("queued", "starting", "running", "stopping")
_SCHEME = "store://"


def upgrade() -> None:
    op.add_column("buckets", sa.Column("id", sa.String(32), nullable=False, server_default=""))
    op.add_column("buckets", sa.Column("place", sa.String(63), nullable=False, server_default=""))
    op.add_column("uploads", sa.Column("bucket_id", sa.String(32), nullable=False, server_default=""))
    op.add_column("uploads", sa.Column("place", sa.String(63), nullable=False, server_default=""))
    op.add_column("model_versions", sa.Column("bucket_id", sa.String(32), nullable=False, server_default=""))
    op.add_column("jobs", sa.Column("bucket_ids", sa.JSON(), nullable=True))
    op.add_column("users", sa.Column("default_project_id", sa.Integer(), nullable=True))
    op.create_table(
        "invitations",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=True),
        sa.Column("role", sa.String(20), nullable=False),
        sa.Column("invited_by", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["invited_by"], ["users.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("project_id", "name"),
    )
    op.create_index("invitations_by_user", "invitations", ["user_id"])
    op.create_table(
        "trees",
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("added_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("project_id", "digest"),
    )
    op.create_index("ix_trees_digest", "trees", ["digest"])
    op.create_table(
        "used_names",
        sa.Column("kind", sa.String(12), nullable=False),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("kind", "name"),
    )
    _give_ids_to_buckets()
    _fill_in_jobs()
    _choose_default_projects()


def downgrade() -> None:
    for table in ("used_names", "trees", "invitations"):
        op.drop_table(table)
    op.drop_column("users", "default_project_id")
    op.drop_column("jobs", "bucket_ids")
    op.drop_column("model_versions", "bucket_id")
    for column in ("place", "bucket_id"):
        op.drop_column("uploads", column)
    for column in ("place", "id"):
        op.drop_column("buckets", column)


def _give_ids_to_buckets() -> None:
    """Each bucket gets an id, and what refers to it by name gets that id: they are what the names mean today."""
    connection = op.get_bind()
    for (name,) in connection.execute(sa.text("SELECT name FROM buckets")).all():
        values = {"name": name, "id": secrets.token_hex(16)}
        connection.execute(sa.text("UPDATE buckets SET id = :id, place = :name WHERE name = :name"), values)
        connection.execute(sa.text("UPDATE uploads SET bucket_id = :id, place = :name WHERE bucket = :name"), values)
        connection.execute(sa.text("UPDATE model_versions SET bucket_id = :id WHERE bucket = :name"), values)


def _fill_in_jobs() -> None:
    """Jobs that are not over keep what they may read and write. Others are checked when they are started again."""
    connection = op.get_bind()
    ids = {row.name: row.id for row in connection.execute(sa.text("SELECT name, id FROM buckets"))}
    states = ", ".join(f"'{state}'" for state in _OPEN)
    found = connection.execute(sa.text(f"SELECT id, spec, output FROM jobs WHERE state IN ({states})")).all()
    for job_id, stored, output in found:
        spec = json.loads(stored) if isinstance(stored, str) else stored
        code = spec.get("code") or {}
        paths = [output, *(spec.get("data") or {}), code.get("store") or ""]
        names = {path[len(_SCHEME) :].partition("/")[0] for path in paths if path.startswith(_SCHEME)}
        known = json.dumps({name: ids[name] for name in sorted(names) if name in ids})
        statement = sa.text("UPDATE jobs SET bucket_ids = CAST(:known AS JSON) WHERE id = :id")
        if connection.dialect.name == "sqlite":
            statement = sa.text("UPDATE jobs SET bucket_ids = :known WHERE id = :id")
        connection.execute(statement, {"known": known, "id": job_id})


def _choose_default_projects() -> None:
    """Everybody keeps the project that their jobs went to so far: the oldest one that they may add to."""
    op.execute(
        "UPDATE users SET default_project_id = (SELECT MIN(m.project_id) FROM members m "
        "JOIN projects p ON p.id = m.project_id WHERE m.user_id = users.id "
        "AND m.role IN ('owner', 'member') AND p.archived_at IS NULL)"
    )
