"""What the measured pages of the console share."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import BrowserContext

PASSWORD = "correct horse"


def sign_in(context: BrowserContext, url: str) -> None:
    """The session is a cookie; nothing of the page has been fetched yet."""
    answer = context.request.post(f"{url}/api/v1/session", data={"name": "admin", "password": PASSWORD})
    assert answer.ok, answer.text()


def figure(name: str, value: float, gate: float | None) -> dict[str, Any]:
    """`gate` is None where nothing is asked for."""
    return {"name": name, "value": round(value, 4), "gate": gate, "goal": gate}
