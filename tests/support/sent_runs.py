"""Runs that are over, sent to a running server in a moment: journals without a script that writes them."""

from __future__ import annotations

from collections.abc import Sequence

import httpx
from tests.support.journals import JournalMaker

from danlu.testing.serving import RunningServer
from danlu.testing.waiting import HANG_SECONDS, wait_until


def send_runs(server: RunningServer, made: Sequence[JournalMaker]) -> list[str]:
    """Send journals as clients do, wait until their points are counted, and return the ids of the runs."""
    headers = {"Authorization": f"Bearer {server.api_key}"}
    with httpx.Client(base_url=f"{server.url}/api/v1", headers=headers, timeout=HANG_SECONDS) as http:
        for one in made:
            http.post("/runs", json=one.header).raise_for_status()
            path = f"/runs/{one.run}/journals/{one.name}"
            http.put(path, params={"offset": 0}, content=one.data).raise_for_status()

        def are_counted() -> bool:
            answers = [http.get(f"/runs/{one.run}").raise_for_status().json() for one in made]
            return all(answer["state"] != "running" for answer in answers)

        wait_until(are_counted)
    return [one.run for one in made]
