"""The gate of the SSH gateway: users are looked up by their key, each time in a transaction of its own."""

from __future__ import annotations

from sqlalchemy.orm import Session

from danlu.auth import rights
from danlu.auth.identity import UserIdentity
from danlu.errors import DanluError
from danlu.gateway.ssh.gate import Guest, Wish
from danlu.server.audit.service import record_action
from danlu.server.state import ServerState
from danlu.server.streams.audience import identity_now
from danlu.server.terminals.service import Entrance, task_of
from danlu.server.uses.operations import Uses
from danlu.spec.audit import Action
from danlu.spec.endpoints import SSH
from danlu.spec.ssh_keys import id_of_fingerprint
from danlu.store.queries import jobs
from danlu.store.queries.gateway import endpoints, ssh_keys
from danlu.store.sql.tables import JobRow


class SshKeyGate:
    """The gate that `SshGateway` asks."""

    def __init__(self, state: ServerState) -> None:
        self._state = state
        self._uses = Uses(state.database, state.now)

    def enter(self, wish: Wish, fingerprint: str) -> Guest | None:
        key_id = id_of_fingerprint(fingerprint)
        with self._state.database.reading() as session:
            for user_id in ssh_keys.users_with(session, key_id):
                who = self._who(session, user_id)
                try:
                    found = None if who is None else _find(session, who, wish)
                except DanluError:  # no access, or not running: the client does not learn which
                    continue
                if found is not None:
                    return Guest(user_id, fingerprint, found.engine, found.task)
        return None

    def note(self, guest: Guest) -> None:
        """Record that a user enters with this key."""
        state = self._state
        with state.database.writing() as session:
            who, job = self._who(session, guest.user_id), jobs.get_job(session, guest.task.job_id)
            ssh_keys.touch_key(session, id_of_fingerprint(guest.fingerprint), guest.user_id, at=state.now())
            if who is not None and job is not None:
                record_action(
                    *(session, who, Action.JOB_ENTER, f"job/{job.id}"),
                    at=state.now(),
                    project_id=job.project_id,
                    rank=guest.task.rank,
                )

    def may_stay(self, guest: Guest) -> bool:
        with self._state.database.reading() as session:
            key = ssh_keys.get_key(session, id_of_fingerprint(guest.fingerprint), guest.user_id)
            who, job = self._who(session, guest.user_id), jobs.get_job(session, guest.task.job_id)
            if key is None or who is None or job is None:
                return False
            may_stay = _may_enter(session, who, job)
        if may_stay:
            self._uses.note(job.id)
        return may_stay

    def _who(self, session: Session, user_id: int) -> UserIdentity | None:
        return identity_now(session, (user_id, "ssh"), self._state.now())


def _find(session: Session, who: UserIdentity, wish: Wish) -> Entrance | None:
    """Raise DanluError when there is no such task."""
    job = jobs.get_job(session, wish.job_id)
    return None if job is None or not _may_enter(session, who, job) else task_of(session, job, wish.rank)


def _may_enter(session: Session, who: UserIdentity, job: JobRow) -> bool:
    """Users who may stop the job; if its endpoint `ssh` is shared, also those who may submit to its project."""
    if rights.can_change_job(who, project_id=job.project_id, owner_id=job.owner_id):
        return True
    endpoint = endpoints.get_endpoint(session, job.id, SSH)
    return endpoint is not None and endpoint.is_shared and rights.can_use_project(who, job.project_id)
