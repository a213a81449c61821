"""version numbers of deleted artifacts and models; last values of metrics that are no numbers

Revision ID: 0015
Revises: 0014
"""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "used_versions",
        sa.Column("kind", sa.String(12), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("last_version", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("kind", "project_id", "name"),
    )
    op.add_column("run_series", sa.Column("odd", sa.String(4), nullable=True))


def downgrade() -> None:
    op.drop_column("run_series", "odd")
    op.drop_table("used_versions")
