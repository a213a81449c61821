"""Attempts by their start, for the timeline of the cluster.

Revision ID: 0020
Revises: 0019
"""

from __future__ import annotations

from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("attempts_by_start", "attempts", ["started_at"])


def downgrade() -> None:
    op.drop_index("attempts_by_start", table_name="attempts")
