"""Alerts over HTTP."""

from __future__ import annotations

from typing import Annotated, Optional

from fastapi import APIRouter, Query

from danlu.server.alerts import service
from danlu.server.identity import CurrentReader
from danlu.server.paging import Cursor, Limit, number_in
from danlu.server.state import State
from danlu.wire.base import Page
from danlu.wire.monitoring.alerts import AlertOut

router = APIRouter(tags=["monitoring"])
MAX_ID_DIGITS = 9


@router.get("/alerts")
def list_alerts(
    who: CurrentReader,
    state: State,
    is_open: Annotated[Optional[bool], Query(alias="open")] = None,
    cursor: Cursor = None,
    limit: Limit = 100,
) -> Page[AlertOut]:
    """Of jobs that you see, newest first; for admins the platform's as well."""
    before = number_in(cursor, max_digits=MAX_ID_DIGITS)
    return state.database.read(service.list_alerts, who, job=None, is_open=is_open, before=before, limit=limit)


@router.get("/jobs/{job}/alerts")
def list_of_job(
    job: str, who: CurrentReader, state: State, cursor: Cursor = None, limit: Limit = 100
) -> Page[AlertOut]:
    """What was and is wrong with a job, newest first."""
    before = number_in(cursor, max_digits=MAX_ID_DIGITS)
    return state.database.read(service.list_alerts, who, job=job, is_open=None, before=before, limit=limit)
