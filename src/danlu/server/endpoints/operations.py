"""The proxy's gate: authorizes requests, each in a transaction of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from danlu.auth.endpoint_grants import COOKIE_SECONDS, EndpointGrant, Kind, open_grant, seal_grant
from danlu.auth.secrets import Sealer
from danlu.errors import NotFound, NotSignedIn, WrongState
from danlu.gateway.proxy.names import Place
from danlu.gateway.services import SERVICES, port_of
from danlu.gateway.tasks import Admitted, Target, Task
from danlu.server.endpoints.service import check_use
from danlu.server.streams.audience import identity_now
from danlu.server.uses.operations import Uses
from danlu.spec.endpoints import SSH
from danlu.spec.states import JobState, is_over
from danlu.store.queries import attempts, jobs
from danlu.store.queries.gateway import endpoints
from danlu.store.sql.database import Database

RANK = 0
"""The tasks of a gang share a network: a port on loopback of any of them is reachable from the first."""


class EndpointGate:
    """The gate that `Proxy` asks. A grant says who the user is, never what they may do: rights are read again each
    time."""

    def __init__(
        self, database: Database, sealer: Sealer, now: Callable[[], datetime], *, is_bare: bool = False
    ) -> None:
        """`is_bare`: for a bare IP address. Its grants are of another kind, and only for the owner of a job."""
        self._database, self._sealer, self._now = database, sealer, now
        self._uses = Uses(database, now)
        self._is_bare = is_bare
        self._link: Kind = "bare link" if is_bare else "link"
        self._cookie: Kind = "bare cookie" if is_bare else "cookie"

    def enter(self, place: Place | None, link: str) -> str:
        grant = open_grant(self._sealer, link, kind=self._link)
        if grant is None or not self._is_for(grant, place):
            raise NotSignedIn(
                "the link is invalid or has expired: it works for a minute; `danlu open` prints a new one"
            )
        with self._database.reading() as session:
            self._admit(session, grant)
        ends_at = self._now() + timedelta(seconds=COOKIE_SECONDS)
        return seal_grant(self._sealer, grant._replace(ends_at=ends_at.timestamp()), kind=self._cookie)

    def admit(self, place: Place | None, cookies: Sequence[str]) -> Admitted:
        found = (open_grant(self._sealer, cookie, kind=self._cookie) for cookie in cookies)
        grant = next((one for one in found if one is not None and self._is_for(one, place)), None)
        if grant is None:
            raise NotSignedIn(
                "you don't have access to this endpoint; open it again with `danlu open` or in the console"
            )
        with self._database.reading() as session:
            admitted = self._admit(session, grant)
        self._uses.note(grant.job_id)
        return admitted

    def _is_for(self, grant: EndpointGrant, place: Place | None) -> bool:
        is_here = self._is_bare if place is None else Place(grant.job_id, grant.endpoint) == place
        return is_here and grant.ends_at > self._now().timestamp()

    def _admit(self, session: Session, grant: EndpointGrant) -> Admitted:
        who = identity_now(session, (grant.user_id, grant.via), self._now())
        if who is None:
            raise NotSignedIn("you were signed out meanwhile; sign in and open the endpoint again")
        job = jobs.get_job(session, grant.job_id)
        endpoint = endpoints.get_endpoint(session, grant.job_id, grant.endpoint)
        if job is None or endpoint is None or endpoint.name == SSH:
            raise NotFound(f"endpoint {grant.endpoint} of {grant.job_id} was closed")
        check_use(who, job, endpoint, is_bare=self._is_bare)
        tasks = attempts.tasks_by_key(session, [(job.id, job.attempt)]).get(job.id, [])
        task = next((task for task in tasks if task.rank == RANK), None)
        if is_over(JobState(job.state)) or task is None:
            raise WrongState(f"{job.id} is {job.state}; its endpoints can be used while it is running")
        here = Task(job.id, job.attempt, RANK, task.node)
        service = endpoint.name if endpoint.name in SERVICES else ""
        return Admitted(who.user_id, Target(job.engine, here, port_of(endpoint.name), service))
