"""What the database is asked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import event
from tests.support.world import World


@contextmanager
def statements(world: World) -> Iterator[list[str]]:
    """The statements that come meanwhile."""
    asked: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        asked.append(statement)

    event.listen(world.database.engine, "before_cursor_execute", note)
    try:
        yield asked
    finally:
        event.remove(world.database.engine, "before_cursor_execute", note)
