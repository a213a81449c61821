"""What Alembic runs; the connection is handed over by danlu.store.sql.migrate."""

from alembic import context

from danlu.store.sql.schema import METADATA

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    render_as_batch=True,
)
context.run_migrations()
