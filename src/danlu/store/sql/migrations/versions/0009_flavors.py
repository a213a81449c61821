"""flavors and frameworks, and what they stood for in a job"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "flavors",
        sa.Column("name", sa.String(length=63), nullable=False),
        sa.Column("device", sa.Text(), nullable=False),
        sa.Column("cpus", sa.Float(), nullable=True),
        sa.Column("memory", sa.BigInteger(), nullable=True),
        sa.Column("price_per_hour", sa.String(length=40), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("is_enabled", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_table(
        "frameworks",
        sa.Column("name", sa.String(length=63), nullable=False),
        sa.Column("title", sa.String(length=200), nullable=False),
        sa.Column("image", sa.Text(), nullable=True),
        sa.Column("setup", sa.Text(), nullable=True),
        sa.Column("env", sa.JSON(), nullable=False),
        sa.Column("launch", sa.JSON(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("is_enabled", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    op.add_column("jobs", sa.Column("terms", sa.JSON(), nullable=True))


def downgrade() -> None:
    op.drop_column("jobs", "terms")
    op.drop_table("frameworks")
    op.drop_table("flavors")
