"""Entry point of Alembic; danlu.store.sql.migrate passes the connection."""

from alembic import context

from danlu.store.sql.schema import METADATA

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    render_as_batch=True,
)
context.run_migrations()
