"""Experiments, tags, parameters and logged models of MLflow's clients.

Revision ID: 0022
Revises: 0021
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "mlflow_experiments",
        sa.Column("number", _NUMBER, primary_key=True, autoincrement=True),
        sa.Column("project_id", sa.Integer(), sa.ForeignKey("projects.id", ondelete="CASCADE"), nullable=False),
        sa.Column("folder", sa.String(500), nullable=False),
        sa.Column("tags", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("deleted_at", sa.DateTime(timezone=True)),
        sa.UniqueConstraint("project_id", "folder"),
    )
    op.create_table(
        "run_texts",
        sa.Column("run", _NUMBER, sa.ForeignKey("runs.number", ondelete="CASCADE"), primary_key=True),
        sa.Column("kind", sa.String(10), primary_key=True),
        sa.Column("key", sa.String(250), primary_key=True),
        sa.Column("value", sa.Text(), nullable=False),
    )
    op.create_index("run_texts_by_key", "run_texts", ["kind", "key"])
    op.create_table(
        "mlflow_models",
        sa.Column("number", _NUMBER, primary_key=True, autoincrement=True),
        sa.Column("id", sa.String(40), nullable=False, unique=True),
        sa.Column("project_id", sa.Integer(), sa.ForeignKey("projects.id", ondelete="CASCADE"), nullable=False),
        sa.Column("owner_id", sa.Integer(), sa.ForeignKey("users.id"), nullable=False),
        sa.Column("folder", sa.String(500), nullable=False),
        sa.Column("run_id", sa.String(40)),
        sa.Column("name", sa.String(250), nullable=False),
        sa.Column("model_type", sa.String(250), nullable=False),
        sa.Column("status", sa.String(40), nullable=False),
        sa.Column("params", sa.JSON(), nullable=False),
        sa.Column("tags", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("deleted_at", sa.DateTime(timezone=True)),
    )
    op.create_index("mlflow_models_by_folder", "mlflow_models", ["project_id", "folder", "number"])


def downgrade() -> None:
    op.drop_table("mlflow_models")
    op.drop_table("run_texts")
    op.drop_table("mlflow_experiments")
