"""Endpoints of jobs on the wire."""

from __future__ import annotations

from danlu.wire.base import Answer, Body, Moment


class OpenEndpoint(Body):
    is_shared: bool = False
    """Whether everybody who may submit to the job's project may use it; they act as the job."""


class EndpointOut(Answer):
    job: str
    name: str
    """`jupyter`, `tensorboard`, or a port of the job."""

    is_shared: bool
    opened_at: Moment
    address: str
    """Where a browser finds it, once it was let in by a link."""


class EndpointsOut(Answer):
    items: list[EndpointOut]
    """In the order in which they were opened."""


class EndpointLinkOut(Answer):
    url: str
    """Open it in a browser: it lets the browser in, and leads to the endpoint. For you alone."""

    ends_at: Moment
    """When the link stops working. The browser that has used it is let in for longer."""
