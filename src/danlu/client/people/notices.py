"""`client.alerts()` and `client.notices`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Optional, Union

from danlu.client.bodies import body
from danlu.client.files.paths import quote_part
from danlu.client.http import Http
from danlu.client.pages import pages
from danlu.spec.monitoring.events import EventKind
from danlu.wire.monitoring.alerts import AlertOut
from danlu.wire.monitoring.notices import NoticeOut, NoticesOut, NoticeWishes, NoticeWishesOut, ReadNotices


def list_alerts(http: Http, *, job: Optional[str] = None, is_open: Optional[bool] = None) -> Iterator[AlertOut]:
    """Alerts of one job, or of all jobs that you can see."""
    if job is not None:
        return pages(http, f"/jobs/{quote_part(job)}/alerts", AlertOut)
    return pages(http, "/alerts", AlertOut, query={"open": None if is_open is None else str(is_open).lower()})


class Notices:
    """Your notices: ended jobs of yours, and alerts about your jobs."""

    def __init__(self, http: Http) -> None:
        self._http = http

    def list(self) -> Iterator[NoticeOut]:
        """Your notices, newest first."""
        cursor: Optional[str] = None
        while True:
            page = self._http.get("/notices", NoticesOut, query={"cursor": cursor})
            yield from page.items
            if page.next is None:
                return
            cursor = page.next

    def num_unread(self) -> int:
        return self._http.get("/notices", NoticesOut, query={"limit": 1}).num_unread

    def mark_read(self, up_to: int) -> None:
        """Mark a notice and all earlier ones as read."""
        self._http.send("PUT", "/notices/read", body=body(ReadNotices, up_to=up_to))

    def wishes(self) -> NoticeWishesOut:
        """Return the events for which you get an e-mail."""
        return self._http.get("/notices/wishes", NoticeWishesOut)

    def set_wishes(self, email: Sequence[Union[EventKind, str]]) -> NoticeWishesOut:
        """Set the events for which you get an e-mail; empty for none."""
        wanted = body(NoticeWishes, email=list(email))
        return self._http.put("/notices/wishes", NoticeWishesOut, body=wanted)
