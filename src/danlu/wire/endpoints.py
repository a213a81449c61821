"""Endpoints of jobs on the wire."""

from __future__ import annotations

from danlu.wire.base import Answer, Body, Moment


class OpenEndpoint(Body):
    is_shared: bool = False
    """Whether all users who may submit to the job's project may use it; they act as the job."""


class EndpointOut(Answer):
    job: str
    name: str
    """`ssh`, `jupyter`, `tensorboard`, or a port of the job."""

    is_shared: bool
    opened_at: Moment
    address: str
    """Address in a browser, after a link has been opened there; `ssh://JOB@HOST:PORT` for `ssh`."""


class EndpointsOut(Answer):
    items: list[EndpointOut]
    """In the order in which they were opened."""


class EndpointLinkOut(Answer):
    url: str
    """Open it in a browser: it gives the browser access, and redirects to the endpoint. Only for you."""

    ends_at: Moment
    """When the link expires. The browser that has opened it keeps its access for longer."""
