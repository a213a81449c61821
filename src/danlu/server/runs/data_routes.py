"""What runs have logged, over HTTP: series, points, media, output, files for elsewhere."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Annotated, Optional

from fastapi import APIRouter, Query
from fastapi.responses import Response, StreamingResponse

from danlu.auth import rights
from danlu.errors import InvalidInput
from danlu.server.identity import CurrentReader
from danlu.server.openapi import BYTES
from danlu.server.paging import Cursor, Limit, bad_cursor, is_number, number_in
from danlu.server.runs import media_pages, operations, service
from danlu.server.runs.export import Format, csv_rows, parquet
from danlu.server.runs.points import PointsQuery
from danlu.server.state import State
from danlu.server.streams.follower import Follower
from danlu.server.streams.hub import Hub, Streams
from danlu.server.streams.response import Stream, in_turn
from danlu.store.metrics.points import Axis
from danlu.wire.base import Page
from danlu.wire.runs import MediaOut, MetricOut, PointsOut, RunAlertOut

router = APIRouter(prefix="/runs", tags=["runs"])
MAX_ID_DIGITS = 18


@router.get("/points")
def points(
    who: CurrentReader,
    state: State,
    run: Annotated[list[str], Query(min_length=1, max_length=200, description="ids or names")],
    series: Annotated[
        Optional[list[str]], Query(max_length=200, description="type/name, such as val/acc; all when omitted")
    ] = None,
    axis: Axis = Axis.STEP,
    max_points: Annotated[int, Query(ge=2, le=20_000)] = 1000,
    hidden: Annotated[bool, Query(description="also what newer branches have superseded")] = False,
) -> PointsOut:
    """The points of many series of many runs. Each line has at most `max_points`; the extremes of each stretch stay."""
    query = PointsQuery(series=tuple(series or ()), axis=axis, max_points=max_points, with_hidden=hidden)
    return operations.read_points(state, who, run, query)


@router.get("/{run}/series")
def list_series(run: str, who: CurrentReader, state: State) -> Page[MetricOut]:
    """All series of a run, rolled up."""
    return Page(items=state.database.read(service.list_series, who, run))


@router.get("/{run}/media")
def list_media(run: str, who: CurrentReader, state: State, cursor: Cursor = None, limit: Limit = 200) -> Page[MediaOut]:
    """Images, texts, histograms, sounds, videos, figures and tables."""
    after = ("", -1) if cursor is None else _media_id(cursor)
    if after is None:
        raise bad_cursor(cursor or "")
    return state.database.read(service.list_media, who, run, after=after, limit=limit)


@router.get("/{run}/media/{media}", response_class=Response, responses=BYTES)
def read_media(run: str, media: str, who: CurrentReader, state: State) -> Response:
    """The bytes of one of them. The list says what they are."""
    row, found = state.database.read(service.find_media, who, run, _media_id(media), media)
    data = state.metrics.read_media(row.id, found)
    # never shown as a page: what people log is not ours to run in a browser
    headers = {"Content-Disposition": "attachment", "X-Content-Type-Options": "nosniff"}
    return Response(data, media_type="application/octet-stream", headers=headers)


@router.get("/{run}/media/{media}/page", response_class=Response, responses=BYTES)
def read_page(run: str, media: str, who: CurrentReader, state: State) -> Response:
    """HTML, or a figure of Plotly, as a page for a frame. It runs in a sandbox: it is of no site, and reaches none."""
    row, found = state.database.read(service.find_media, who, run, _media_id(media), media)
    if found.format not in media_pages.FORMATS:
        raise InvalidInput(f"media: expected HTML or a figure of Plotly, got {found.format}; GET .../{media} has it")
    page = media_pages.page_of(found.format, state.metrics.read_media(row.id, found))
    return Response(page.data, media_type="text/html; charset=utf-8", headers=page.headers)


@router.get("/{run}/alerts")
def list_alerts(
    run: str, who: CurrentReader, state: State, cursor: Cursor = None, limit: Limit = 100
) -> Page[RunAlertOut]:
    """What the script of a run wanted somebody to know, newest first."""
    before = number_in(cursor, max_digits=MAX_ID_DIGITS)
    return state.database.read(service.list_alerts, who, run, before=before, limit=limit)


@router.get("/{run}/output/{journal}", response_class=Response, responses=BYTES)
def read_output(
    run: str,
    journal: str,
    who: CurrentReader,
    state: State,
    offset: Annotated[int, Query(ge=0, le=2**60)] = 0,
) -> Response:
    """What the writer of a journal printed, from an offset on; `X-Danlu-Next-Offset` is where to go on."""
    row = state.database.read(service.find, who, run)
    text = state.metrics.read_output(row, journal, offset)
    headers = {"X-Danlu-Next-Offset": str(offset + len(text))}
    return Response(text, media_type="application/octet-stream", headers=headers)


@router.get("/{run}/export", response_class=StreamingResponse, responses=BYTES)
def export(
    run: str,
    who: CurrentReader,
    state: State,
    streams: Streams,
    file_format: Annotated[Format, Query(alias="format")] = Format.CSV,
) -> Stream:
    """Every point of a run, in the order it was logged: CSV, or Parquet where the server has pyarrow."""
    row = state.database.read(service.find, who, run)
    headers = {"Content-Disposition": f'attachment; filename="{row.id}.{file_format}"'}
    pieces = csv_rows(state, row) if file_format is Format.CSV else parquet(state, row)

    def tell(hub: Hub, follower: Follower) -> AsyncGenerator[bytes, None]:
        follower.may_go_on = lambda now: rights.can_see_project(now, row.project_id)
        return in_turn(hub, follower, pieces)

    return Stream(streams, who, tell, slots=streams.exports, media_type="application/octet-stream", headers=headers)


def _media_id(text: str) -> Optional[tuple[str, int]]:
    journal, colon, start = text.partition(":")
    if not colon or not is_number(start):
        return None
    return journal, int(start)
