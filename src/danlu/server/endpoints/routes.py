"""Endpoints of jobs over HTTP. What is behind them goes through the proxy (`danlu.gateway.proxy`)."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response

from danlu.server.endpoints import service
from danlu.server.identity import CurrentUser
from danlu.server.state import State
from danlu.wire.endpoints import EndpointLinkOut, EndpointOut, EndpointsOut, OpenEndpoint

router = APIRouter(prefix="/jobs/{job}/endpoints", tags=["endpoints"])


@router.get("")
def list_endpoints(job: str, who: CurrentUser, state: State) -> EndpointsOut:
    """The endpoints that are open while the job runs."""
    return state.database.read(service.list_endpoints, state, who, job)


@router.put("/{endpoint}")
def open_endpoint(job: str, endpoint: str, body: OpenEndpoint, who: CurrentUser, state: State) -> EndpointOut:
    """Open a port of the job to yourself, or to its project. Idempotent."""
    return state.database.write(service.open_endpoint, state, who, job, endpoint, body=body)


@router.delete("/{endpoint}", status_code=204)
def close_endpoint(job: str, endpoint: str, who: CurrentUser, state: State) -> Response:
    """Close it; its users are disconnected within seconds."""
    state.database.write(service.close_endpoint, state, who, job, endpoint)
    return Response(status_code=204)


@router.post("/{endpoint}/links", status_code=201)
def make_link(job: str, endpoint: str, who: CurrentUser, state: State, request: Request) -> EndpointLinkOut:
    """A link that gives one browser access. It works for a minute, for you, and for this endpoint only."""
    host = request.headers.get("Host", "")
    return state.database.write(service.make_link, state, who, job, endpoint, host=host)
