"""Alerts, groups, parents and axes of runs.

Revision ID: 0023
Revises: 0022
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None

_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.add_column("runs", sa.Column("group_name", sa.String(200)))
    op.add_column("runs", sa.Column("parent", sa.String(40)))
    op.add_column("runs", sa.Column("axes", sa.JSON(), server_default="{}", nullable=False))
    op.create_index("runs_by_parent", "runs", ["parent"])
    op.create_table(
        "run_alerts",
        sa.Column("number", _NUMBER, primary_key=True, autoincrement=True),
        sa.Column("run", _NUMBER, sa.ForeignKey("runs.number", ondelete="CASCADE"), nullable=False),
        sa.Column("title", sa.String(200), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("level", sa.String(10), nullable=False),
        sa.Column("step", sa.BigInteger()),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("state", sa.String(10), nullable=False),
        sa.Column("told_at", sa.DateTime(timezone=True)),
    )
    op.create_index("run_alerts_by_run", "run_alerts", ["run", "number"])
    op.create_index("run_alerts_by_state", "run_alerts", ["state", "number"])


def downgrade() -> None:
    op.drop_table("run_alerts")
    op.drop_index("runs_by_parent", "runs")
    op.drop_column("runs", "axes")
    op.drop_column("runs", "parent")
    op.drop_column("runs", "group_name")
