"""Blobs that arrived together are in one object.

Revision ID: 0024
Revises: 0023
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "blob_packs",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("added_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("replaced_at", sa.DateTime(timezone=True)),
    )
    op.create_table(
        "blob_places",
        sa.Column("digest", sa.String(64), primary_key=True),
        sa.Column("pack", sa.String(32), sa.ForeignKey("blob_packs.id"), nullable=False),
        sa.Column("start", sa.BigInteger(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
    )
    op.create_index("ix_blob_places_pack", "blob_places", ["pack"])


def downgrade() -> None:
    if op.get_bind().execute(sa.text("SELECT 1 FROM blob_places LIMIT 1")).first() is not None:
        raise RuntimeError("blobs are stored in packs, which the older version cannot read; restore a backup instead")
    op.drop_table("blob_places")
    op.drop_table("blob_packs")
