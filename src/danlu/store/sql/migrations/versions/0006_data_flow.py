"""the data flow: nodes and edges"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_KEY = sa.String(length=1000).with_variant(sa.String(length=1000, collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "flow_nodes",
        sa.Column("number", _NUMBER, autoincrement=True, nullable=False),
        sa.Column("kind", sa.String(length=12), nullable=False),
        sa.Column("key", _KEY, nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=True),
        sa.Column("label", sa.String(length=300), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("number"),
        sa.UniqueConstraint("kind", "key"),
    )
    op.create_index("flow_nodes_by_project", "flow_nodes", ["project_id"])
    op.create_table(
        "flow_edges",
        sa.Column("source", _NUMBER, nullable=False),
        sa.Column("target", _NUMBER, nullable=False),
        sa.Column("relation", sa.String(length=12), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["source"], ["flow_nodes.number"]),
        sa.ForeignKeyConstraint(["target"], ["flow_nodes.number"]),
        sa.PrimaryKeyConstraint("source", "target", "relation"),
        sqlite_with_rowid=False,
    )
    op.create_index("flow_edges_by_target", "flow_edges", ["target", "source", "relation"])


def downgrade() -> None:
    op.drop_table("flow_edges")
    op.drop_table("flow_nodes")
