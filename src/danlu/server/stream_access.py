"""Whether somebody who is being answered for long may still see what they see."""

from __future__ import annotations

import time
from collections.abc import Callable

from fastapi.concurrency import run_in_threadpool
from sqlalchemy.orm import Session

from danlu.auth import rights
from danlu.auth.identity import UserIdentity
from danlu.errors import NotSignedIn
from danlu.server.identity import is_still, user_identity
from danlu.server.state import ServerState

LOOK_SECONDS = 1.0


class Access:
    """Looks again every second: who is disabled, or whose key or role is gone, is not told any more."""

    def __init__(self, state: ServerState, who: UserIdentity, project_of: Callable[[Session], int | None]) -> None:
        """`project_of` finds the project of what they see; None when it is gone, which is not a matter of rights."""
        self._state, self._who, self._project_of = state, who, project_of
        self._looked_at = time.monotonic()

    async def goes_on(self) -> bool:
        if time.monotonic() - self._looked_at < LOOK_SECONDS:
            return True
        self._looked_at = time.monotonic()
        return await run_in_threadpool(self._look)

    def _look(self) -> bool:
        with self._state.database.reading() as session:
            if not is_still(session, self._who, self._state.now()):
                return False
            try:
                who = user_identity(session, self._who.user_id)
            except NotSignedIn:
                return False
            project_id = self._project_of(session)
            return project_id is None or rights.can_see_project(who, project_id)
