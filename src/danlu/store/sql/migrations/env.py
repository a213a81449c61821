"""Entry point of Alembic; danlu.store.sql.migrate passes the connection."""

from alembic import context

from danlu.store.sql import artifact_tables, flow_tables, model_tables, run_tables  # noqa: F401  their tables belong to the schema
from danlu.store.sql.tables import Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    render_as_batch=True,
)
context.run_migrations()
