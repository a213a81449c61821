"""Traces of MLflow's clients.

Revision ID: 0025
Revises: 0024
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None

_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    experiment = sa.ForeignKey("mlflow_experiments.number", ondelete="CASCADE")
    op.create_table(
        "mlflow_traces",
        sa.Column("number", _NUMBER, primary_key=True, autoincrement=True),
        sa.Column("id", sa.String(50), nullable=False),
        sa.Column("project_id", sa.Integer(), sa.ForeignKey("projects.id", ondelete="CASCADE"), nullable=False),
        sa.Column("experiment", _NUMBER, experiment, nullable=False),
        sa.Column("owner_id", sa.Integer(), sa.ForeignKey("users.id"), nullable=False),
        sa.Column("job_id", sa.String(40)),
        sa.Column("status", sa.String(40), nullable=False),
        sa.Column("began_ms", sa.BigInteger(), nullable=False),
        sa.Column("took_ms", sa.BigInteger()),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.UniqueConstraint("project_id", "id"),
    )
    op.create_index("mlflow_traces_by_experiment", "mlflow_traces", ["experiment", "began_ms", "number"])
    trace = sa.ForeignKey("mlflow_traces.number", ondelete="CASCADE")
    op.create_table(
        "mlflow_trace_texts",
        sa.Column("trace", _NUMBER, trace, primary_key=True),
        sa.Column("kind", sa.String(10), primary_key=True),
        sa.Column("key", sa.String(250), primary_key=True),
        sa.Column("value", sa.Text(), nullable=False),
    )


def downgrade() -> None:
    op.drop_table("mlflow_trace_texts")
    op.drop_table("mlflow_traces")
