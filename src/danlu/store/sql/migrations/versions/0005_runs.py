"""runs, their folders, and the index over their metrics"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "run_folders",
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("path", sa.String(length=500), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("project_id", "path"),
    )
    op.create_table(
        "runs",
        sa.Column("number", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("owner_id", sa.Integer(), nullable=False),
        sa.Column("folder", sa.String(length=500), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("job_id", sa.String(length=40), nullable=True),
        sa.Column("attempt", sa.Integer(), nullable=True),
        sa.Column("is_own", sa.Boolean(), nullable=False),
        sa.Column("labels", sa.JSON(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("hparams", sa.JSON(), nullable=False),
        sa.Column("summary", sa.JSON(), nullable=False),
        sa.Column("info", sa.JSON(), nullable=False),
        sa.Column("set_at", sa.JSON(), nullable=False),
        sa.Column("branch", sa.Integer(), nullable=False),
        sa.Column("step", sa.BigInteger(), nullable=True),
        sa.Column("epoch", sa.Float(), nullable=True),
        sa.Column("total_steps", sa.BigInteger(), nullable=True),
        sa.Column("num_points", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["owner_id"],
            ["users.id"],
        ),
        sa.ForeignKeyConstraint(
            ["project_id"],
            ["projects.id"],
        ),
        sa.PrimaryKeyConstraint("number"),
        sa.UniqueConstraint("id"),
    )
    with op.batch_alter_table("runs", schema=None) as batch_op:
        batch_op.create_index("runs_by_folder", ["project_id", "folder", "number"], unique=False)
        batch_op.create_index("runs_by_job", ["job_id"], unique=False)
        batch_op.create_index("runs_by_project", ["project_id", "number"], unique=False)
        batch_op.create_index("runs_by_state", ["state", "seen_at"], unique=False)

    op.create_table(
        "run_branches",
        sa.Column("run", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("branch", sa.Integer(), nullable=False),
        sa.Column("said_step", sa.BigInteger(), nullable=True),
        sa.Column("first_step", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["run"], ["runs.number"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run", "branch"),
    )
    op.create_table(
        "run_journals",
        sa.Column("run", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("name", sa.String(length=80), nullable=False),
        sa.Column("offset", sa.BigInteger(), nullable=False),
        sa.Column("noted", sa.BigInteger(), nullable=False),
        sa.Column("built", sa.BigInteger(), nullable=False),
        sa.Column("noted_branch", sa.Integer(), nullable=False),
        sa.Column("built_branch", sa.Integer(), nullable=False),
        sa.Column("layouts", sa.JSON(), nullable=False),
        sa.Column("branch", sa.Integer(), nullable=False),
        sa.Column("writer", sa.String(length=20), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("finish", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("output_bytes", sa.BigInteger(), nullable=False),
        sa.Column("num_damaged", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["run"], ["runs.number"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run", "name"),
    )
    op.create_table(
        "run_media",
        sa.Column("run", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("journal", sa.String(length=80), nullable=False),
        sa.Column("start", sa.BigInteger(), nullable=False),
        sa.Column("num_parts", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("type", sa.String(length=60), nullable=False),
        sa.Column("name", sa.String(length=300), nullable=False),
        sa.Column("format", sa.String(length=100), nullable=False),
        sa.Column("step", sa.BigInteger(), nullable=True),
        sa.Column("epoch", sa.Float(), nullable=True),
        sa.Column("at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["run"], ["runs.number"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run", "journal", "start"),
    )
    op.create_table(
        "run_output",
        sa.Column("run", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("journal", sa.String(length=80), nullable=False),
        sa.Column("start", sa.BigInteger(), nullable=False),
        sa.Column("end", sa.BigInteger(), nullable=False),
        sa.Column("first", sa.BigInteger(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["run"], ["runs.number"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run", "journal", "start"),
    )
    op.create_table(
        "run_series",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("run", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("type", sa.String(length=60), nullable=False),
        sa.Column("name", sa.String(length=300), nullable=False),
        sa.Column("num_points", sa.BigInteger(), nullable=False),
        sa.Column("branch", sa.Integer(), nullable=False),
        sa.Column("step", sa.BigInteger(), nullable=False),
        sa.Column("epoch", sa.Float(), nullable=True),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("last", sa.Float(), nullable=True),
        sa.Column("low", sa.Float(), nullable=True),
        sa.Column("high", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(["run"], ["runs.number"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("run", "type", "name"),
    )
    op.create_table(
        "run_values",
        sa.Column("run", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("key", sa.String(length=400), nullable=False),
        sa.Column("num", sa.Float(), nullable=True),
        sa.Column("low", sa.Float(), nullable=True),
        sa.Column("high", sa.Float(), nullable=True),
        sa.Column("text", sa.String(length=500), nullable=True),
        sa.ForeignKeyConstraint(["run"], ["runs.number"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run", "key"),
    )
    with op.batch_alter_table("run_values", schema=None) as batch_op:
        batch_op.create_index("run_values_by_key", ["key", "num"], unique=False)

    op.create_table(
        "run_chunks",
        sa.Column("series", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("journal", sa.String(length=80), nullable=False),
        sa.Column("start", sa.BigInteger(), nullable=False),
        sa.Column("branch", sa.Integer(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("num_points", sa.Integer(), nullable=False),
        sa.Column("num_thin", sa.Integer(), nullable=False),
        sa.Column("low_step", sa.BigInteger(), nullable=False),
        sa.Column("high_step", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["series"], ["run_series.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("series", "journal", "start", "branch"),
    )


def downgrade() -> None:
    op.drop_table("run_chunks")
    with op.batch_alter_table("run_values", schema=None) as batch_op:
        batch_op.drop_index("run_values_by_key")

    op.drop_table("run_values")
    op.drop_table("run_series")
    op.drop_table("run_output")
    op.drop_table("run_media")
    op.drop_table("run_journals")
    op.drop_table("run_branches")
    with op.batch_alter_table("runs", schema=None) as batch_op:
        batch_op.drop_index("runs_by_state")
        batch_op.drop_index("runs_by_project")
        batch_op.drop_index("runs_by_job")
        batch_op.drop_index("runs_by_folder")

    op.drop_table("runs")
    op.drop_table("run_folders")
