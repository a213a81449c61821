"""Style and security headers of the server's own pages."""

from __future__ import annotations

from fastapi.responses import HTMLResponse

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Danlu</title>
<style>body{{font:16px/1.5 system-ui,sans-serif;max-width:36rem;margin:4rem auto;padding:0 1rem}}
button{{font:inherit;padding:.5rem 1.5rem}}code{{background:#8882;padding:.1rem .3rem}}</style>
<h1>Danlu 丹炉</h1>{body}</html>"""


def page(body: str, status: int = 200) -> HTMLResponse:
    return HTMLResponse(_PAGE.format(body=body), status_code=status, headers=HEADERS)
