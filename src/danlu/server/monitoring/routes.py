"""`/metrics`, in the format of Prometheus."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response
from prometheus_client.exposition import choose_encoder

from danlu.server.identity import WHO
from danlu.server.monitoring.access import check_scraper
from danlu.server.monitoring.collect import Everything
from danlu.server.state import State

router = APIRouter(include_in_schema=False)


@router.get("/metrics")
def metrics(request: Request, state: State) -> Response:
    """For admins, and for whoever has the token of `metrics_token_file`."""
    check_scraper(state.settings, request.headers.get("authorization", ""), request.scope.get(WHO))
    encode, content_type = choose_encoder(request.headers.get("accept", ""))
    return Response(encode(Everything(state)), media_type=content_type)
