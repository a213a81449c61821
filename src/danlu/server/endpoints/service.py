"""Which endpoints a job has, and who may use them. No HTTP, no SQL, no commit."""

from __future__ import annotations

from datetime import timedelta
from urllib.parse import quote

from sqlalchemy.orm import Session

from danlu.auth import rights
from danlu.auth.endpoint_grants import LINK_SECONDS, EndpointGrant, seal_grant
from danlu.auth.identity import UserIdentity
from danlu.errors import InvalidInput, NotAllowed, NotFound, WrongState
from danlu.gateway.proxy.names import BareAddress, EndpointNames, Place, needs_bare
from danlu.gateway.proxy.server import ENTER
from danlu.server.audit.service import record_action
from danlu.server.jobs.service import find, find_to_change
from danlu.server.state import ServerState
from danlu.spec.audit import Action
from danlu.spec.endpoints import MAX_ENDPOINTS, SSH, check_endpoint
from danlu.spec.states import JobState, is_over
from danlu.store.queries.gateway import endpoints
from danlu.store.sql.endpoint_tables import EndpointRow
from danlu.store.sql.tables import JobRow
from danlu.wire.endpoints import EndpointLinkOut, EndpointOut, EndpointsOut, OpenEndpoint


def list_endpoints(session: Session, state: ServerState, who: UserIdentity, job: str) -> EndpointsOut:
    row = find(session, who, job)
    return EndpointsOut(items=[_out(state, one) for one in endpoints.endpoints_of(session, row.id)])


def open_endpoint(
    session: Session, state: ServerState, who: UserIdentity, job: str, name: str, *, body: OpenEndpoint
) -> EndpointOut:
    """Open an endpoint, or change who may use it. Idempotent."""
    row, name = find_to_change(session, who, job), _name(name)
    if is_over(JobState(row.state)):
        raise WrongState(f"{row.id} is {row.state}; endpoints can be opened until a job ends")
    before = {one.name for one in endpoints.endpoints_of(session, row.id)}
    if name not in before and len(before) >= MAX_ENDPOINTS:
        raise InvalidInput(f"{row.id} has {MAX_ENDPOINTS} endpoints, which is the maximum; close one first")
    opened = endpoints.put_endpoint(session, row.id, name, is_shared=body.is_shared, at=state.now())
    _record(session, state, who, Action.ENDPOINT_OPEN, row, name=name)
    return _out(state, opened)


def close_endpoint(session: Session, state: ServerState, who: UserIdentity, job: str, name: str) -> None:
    """Close an endpoint. Idempotent."""
    row, name = find_to_change(session, who, job), _name(name)
    endpoints.delete_endpoint(session, row.id, name)
    _record(session, state, who, Action.ENDPOINT_CLOSE, row, name=name)


def make_link(
    session: Session, state: ServerState, who: UserIdentity, job: str, name: str, *, host: str = ""
) -> EndpointLinkOut:
    """Create a link that opens the endpoint in one browser, valid for a minute. `host`: the Host header of the request;
    a bare IP address has no endpoint names."""
    row, name = find(session, who, job), _name(name)
    if name == SSH:
        raise InvalidInput(f"ssh cannot be opened in a browser; use `danlu ssh {row.id}`")
    found = endpoints.get_endpoint(session, row.id, name)
    if found is None:
        raise NotFound(f"{row.id} has no open endpoint {name}; `danlu open {row.id} {name}` opens it")
    is_bare = state.settings.has_bare_endpoints and needs_bare(host)
    check_use(who, row, found, is_bare=is_bare)
    ends_at = state.now() + timedelta(seconds=LINK_SECONDS)
    grant = EndpointGrant(who.user_id, who.origin.via, row.id, name, ends_at.timestamp())
    _record(session, state, who, Action.ENDPOINT_USE, row, name=name)
    origin = _bare_origin(state, host) if is_bare else _names(state).origin(Place(row.id, name))
    sealed = seal_grant(state.sealer, grant, kind="bare link" if is_bare else "link")
    return EndpointLinkOut(url=f"{origin}{ENTER}?grant={quote(sealed)}", ends_at=ends_at)


def check_use(who: UserIdentity, job: JobRow, endpoint: EndpointRow, *, is_bare: bool = False) -> None:
    """Users who may stop the job; if the endpoint is shared, also those who may submit to its project. They act as the
    job.

    At a bare IP address, only the owner: browsers do not isolate endpoints that share an address.
    """
    if is_bare and who.user_id != job.owner_id:
        told = f"without host names, endpoint {endpoint.name} of {job.id} is for its owner only"
        raise NotAllowed(f"{told}; use a name of this server, or see docs/guide/endpoints.md")
    may_change = rights.can_change_job(who, project_id=job.project_id, owner_id=job.owner_id)
    if not may_change and not (endpoint.is_shared and rights.can_use_project(who, job.project_id)):
        raise NotAllowed(f"endpoint {endpoint.name} of {job.id} is not shared with you; ask its owner")


def _names(state: ServerState) -> EndpointNames:
    return EndpointNames(state.settings.endpoints_at)


def _bare_origin(state: ServerState, host: str) -> str:
    address = host if host.endswith("]") else host.rpartition(":")[0] or host
    return BareAddress(state.settings.endpoints_bare_port or 0).origin(address)


def _out(state: ServerState, row: EndpointRow) -> EndpointOut:
    return EndpointOut(
        job=row.job_id,
        name=row.name,
        is_shared=row.is_shared,
        opened_at=row.opened_at,
        address=_address(state, row),
    )


def _address(state: ServerState, row: EndpointRow) -> str:
    if row.name != SSH:
        return _names(state).origin(Place(row.job_id, row.name)) + "/"
    host, port = state.settings.ssh_at
    return f"ssh://{row.job_id}@{host}:{port}"


def _name(given: str) -> str:
    try:
        return check_endpoint(given)
    except ValueError as error:
        raise InvalidInput(f"endpoint: {error}", fields={"endpoint": str(error)}) from error


def _record(session: Session, state: ServerState, who: UserIdentity, action: Action, job: JobRow, *, name: str) -> None:
    record_action(session, who, action, f"job/{job.id}", at=state.now(), project_id=job.project_id, endpoint=name)
