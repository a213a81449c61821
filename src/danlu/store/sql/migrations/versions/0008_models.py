"""the model registry"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "models",
        sa.Column("number", _NUMBER, autoincrement=True, nullable=False),
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("tags", sa.JSON(), nullable=False),
        sa.Column("last_version", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"]),
        sa.PrimaryKeyConstraint("number"),
        sa.UniqueConstraint("id"),
        sa.UniqueConstraint("project_id", "name"),
    )
    op.create_table(
        "model_versions",
        sa.Column("number", _NUMBER, autoincrement=True, nullable=False),
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("model", _NUMBER, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("bucket", sa.String(length=63), nullable=True),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("is_copied", sa.Boolean(), nullable=False),
        sa.Column("job_id", sa.String(length=40), nullable=True),
        sa.Column("run_id", sa.String(length=40), nullable=True),
        sa.Column("artifact_id", sa.String(length=40), nullable=True),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("num_files", sa.Integer(), nullable=False),
        sa.Column("format", sa.String(length=60), nullable=False),
        sa.Column("framework", sa.String(length=100), nullable=False),
        sa.Column("environment", sa.JSON(), nullable=False),
        sa.Column("metrics", sa.JSON(), nullable=False),
        sa.Column("hparams", sa.JSON(), nullable=False),
        sa.Column("tags", sa.JSON(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("owner_id", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["model"], ["models.number"]),
        sa.ForeignKeyConstraint(["owner_id"], ["users.id"]),
        sa.PrimaryKeyConstraint("number"),
        sa.UniqueConstraint("id"),
        sa.UniqueConstraint("model", "version"),
    )
    op.create_index("model_versions_by_job", "model_versions", ["job_id"])
    op.create_index("model_versions_by_artifact", "model_versions", ["artifact_id"])
    op.create_index("model_versions_by_bucket", "model_versions", ["bucket"])
    op.create_table(
        "model_aliases",
        sa.Column("model", _NUMBER, nullable=False),
        sa.Column("alias", sa.String(length=60), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["model"], ["models.number"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("model", "alias"),
    )


def downgrade() -> None:
    op.drop_table("model_aliases")
    op.drop_table("model_versions")
    op.drop_table("models")
