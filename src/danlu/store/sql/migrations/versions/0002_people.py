"""people, registrations, throttling and the audit trail"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "audit_events",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("actor", sa.String(length=100), nullable=False),
        sa.Column("action", sa.String(length=40), nullable=False),
        sa.Column("object", sa.String(length=200), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=True),
        sa.Column("address", sa.String(length=64), nullable=False),
        sa.Column("via", sa.String(length=60), nullable=False),
        sa.Column("details", sa.JSON(), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    with op.batch_alter_table("audit_events", schema=None) as batch_op:
        batch_op.create_index("audit_by_actor", ["actor", "id"], unique=False)
        batch_op.create_index("audit_by_object", ["object", "id"], unique=False)
        batch_op.create_index("audit_by_project", ["project_id", "id"], unique=False)
        batch_op.create_index("audit_by_time", ["at", "id"], unique=False)

    op.create_table(
        "failures",
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("last_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("key"),
    )
    with op.batch_alter_table("failures", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_failures_last_at"), ["last_at"], unique=False)

    op.create_table(
        "registrations",
        sa.Column("id", sa.String(length=16), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("full_name", sa.String(length=200), nullable=False),
        sa.Column("email", sa.String(length=200), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("password_hash", sa.String(length=200), nullable=True),
        sa.Column("issuer", sa.String(length=400), nullable=True),
        sa.Column("subject", sa.String(length=255), nullable=True),
        sa.Column("address", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "familiar_addresses",
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("address", sa.String(length=64), nullable=False),
        sa.Column("last_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", "address"),
    )
    op.create_table(
        "oidc_accounts",
        sa.Column("issuer", sa.String(length=400), nullable=False),
        sa.Column("subject", sa.String(length=255), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("issuer", "subject"),
    )
    with op.batch_alter_table("oidc_accounts", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_oidc_accounts_user_id"), ["user_id"], unique=False)

    op.create_index("ix_blob_owners_digest", "blob_owners", ["digest"])
    op.add_column("projects", sa.Column("description", sa.Text(), server_default="", nullable=False))
    op.add_column("projects", sa.Column("created_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("projects", sa.Column("archived_at", sa.DateTime(timezone=True), nullable=True))

    op.add_column("users", sa.Column("full_name", sa.String(length=200), server_default="", nullable=False))
    op.add_column("users", sa.Column("email", sa.String(length=200), server_default="", nullable=False))
    op.add_column("users", sa.Column("signed_in_at", sa.DateTime(timezone=True), nullable=True))

    # whoever is there already has come
    op.execute("UPDATE users SET signed_in_at = created_at")


def downgrade() -> None:
    op.drop_index("ix_blob_owners_digest", "blob_owners")
    op.drop_column("users", "signed_in_at")
    op.drop_column("users", "email")
    op.drop_column("users", "full_name")

    op.drop_column("projects", "archived_at")
    op.drop_column("projects", "created_at")
    op.drop_column("projects", "description")

    with op.batch_alter_table("oidc_accounts", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_oidc_accounts_user_id"))

    op.drop_table("oidc_accounts")
    op.drop_table("familiar_addresses")
    op.drop_table("registrations")
    with op.batch_alter_table("failures", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_failures_last_at"))

    op.drop_table("failures")
    with op.batch_alter_table("audit_events", schema=None) as batch_op:
        batch_op.drop_index("audit_by_time")
        batch_op.drop_index("audit_by_project")
        batch_op.drop_index("audit_by_object")
        batch_op.drop_index("audit_by_actor")

    op.drop_table("audit_events")
