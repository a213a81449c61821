"""Whether somebody who is being answered for long may still see what they see."""

from __future__ import annotations

import time

from fastapi.concurrency import run_in_threadpool

from danlu.auth import rights
from danlu.auth.identity import UserIdentity
from danlu.errors import NotSignedIn
from danlu.server.identity import is_still, user_identity
from danlu.server.state import ServerState
from danlu.store import jobs

LOOK_SECONDS = 1.0


class Access:
    """Looks again every second: who is disabled, or whose key or role is gone, is not told any more."""

    def __init__(self, state: ServerState, who: UserIdentity, job_id: str) -> None:
        self._state, self._who, self._job_id = state, who, job_id
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
            job = jobs.get_job(session, self._job_id)
            return job is None or rights.can_see_project(who, job.project_id)
