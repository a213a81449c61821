"""What a framework is for.

Revision ID: 0016
Revises: 0015
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("frameworks", sa.Column("purpose", sa.String(20), nullable=False, server_default="training"))


def downgrade() -> None:
    with op.batch_alter_table("frameworks") as table:
        table.drop_column("purpose")
