"""Helpers shared by the measured pages of the console."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import BrowserContext

PASSWORD = "correct horse"


def sign_in(context: BrowserContext, url: str) -> None:
    """Log in by the session cookie, without fetching any part of the page."""
    answer = context.request.post(f"{url}/api/v1/session", data={"name": "admin", "password": PASSWORD})
    assert answer.ok, answer.text()


def figure(name: str, value: float, gate: float | None) -> dict[str, Any]:
    """`gate` is None if there is no requirement."""
    return {"name": name, "value": round(value, 4), "gate": gate, "goal": gate}
