"""HTML that users logged, as an isolated page.

The policy gives the page an origin of its own, even when a user opens its address directly: no cookies, no storage, no
requests to any server but for Plotly.js. Scripts may run, because plots need them.
"""

from __future__ import annotations

import json
from typing import NamedTuple

HTML, PLOTLY = "text/html", "application/vnd.plotly.v1+json"
FORMATS = (HTML, PLOTLY)
PLOTLY_SCRIPT = "/plotly.min.js"
_POLICY = (
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'{scripts}; style-src 'unsafe-inline'; "
    "img-src data: blob:; font-src data:; media-src data: blob:; connect-src 'none'; frame-src 'none'; "
    "worker-src 'none'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), display-capture=(), clipboard-read=()",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "private, no-store",
}
_FIGURE = """<!doctype html><meta charset="utf-8"><title>figure</title>
<style>html,body,#figure{{height:100%;margin:0}}</style><div id="figure">{none}</div>
<script type="application/json" id="made">{made}</script><script src="{script}"></script>
<script>
const made = JSON.parse(document.getElementById("made").textContent), there = document.getElementById("figure");
if (window.Plotly) {{
  there.textContent = "";
  Plotly.newPlot(there, made.data || [], {{...made.layout, autosize: true, width: undefined, height: undefined}},
    {{responsive: true, displaylogo: false}});
}}
</script>"""


class Page(NamedTuple):
    data: bytes
    headers: dict[str, str]


def page_of(format: str, data: bytes) -> Page:
    """The page of a medium, with the policy that isolates it."""
    if format == HTML:
        return _answer(data, scripts="")
    # nothing in the JSON may close the element around it
    made = json.dumps(_parsed(data)).replace("<", "\\u003c").replace("&", "\\u0026")
    none = "This installation has no Plotly.js; the figure's JSON can be downloaded."
    text = _FIGURE.format(made=made, script=PLOTLY_SCRIPT, none=none)
    return _answer(text.encode(), scripts=" 'self'")


def _answer(data: bytes, *, scripts: str) -> Page:
    return Page(data, {**_HEADERS, "Content-Security-Policy": _POLICY.format(scripts=scripts)})


def _parsed(data: bytes) -> object:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
