"""Costs of jobs, by project and user."""

from __future__ import annotations

import time
from datetime import datetime, timezone
from typing import Optional

from danlu.client.http import Http
from danlu.client.moments import Since, unix_seconds
from danlu.wire.costs import CostsOut


def read_costs(http: Http, *, since: Optional[Since], until: Optional[Since]) -> CostsOut:
    return http.get("/costs", CostsOut, query={"since": _iso(since), "until": _iso(until)})


def _iso(moment: Optional[Since]) -> Optional[str]:
    if moment is None:
        return None
    return datetime.fromtimestamp(unix_seconds(moment, time.time()), timezone.utc).isoformat()
