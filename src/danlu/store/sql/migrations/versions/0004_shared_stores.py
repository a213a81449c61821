"""Several servers on one database; uploads that go to the object service directly.

Revision ID: 0004
Revises: 0001
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "facts",
        sa.Column("name", sa.String(40), primary_key=True),
        sa.Column("value", sa.Text(), nullable=False),
    )
    op.add_column("uploads", sa.Column("service_id", sa.Text(), nullable=True))


def downgrade() -> None:
    op.drop_column("uploads", "service_id")
    op.drop_table("facts")
