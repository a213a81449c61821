"""Names that try to run, to hide, to turn round, to look like others and to burst the page.

The things are called NAME. On the way to the browser the answers of the server are changed as if each of them was
called something hostile, which also covers what this server would refuse and an older one may have stored.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote, quote_plus

from playwright.sync_api import Browser, Route, expect
from tests.support.browser import SHOTS, Tab

from danlu.testing.serving import RunningServer
from danlu.testing.waiting import wait_until

NAME = "hostilename"
LONG = "W" * 2000
SLOW = 30_000
TRICKS = (
    "safe\u202egpj.exe <img src=x onerror=alert(1)><script>alert(2)</script>"
    "javascript:alert(3) [a](javascript:alert(4)) \x1b[2J\x1b]8;;javascript:alert(5)\x07link\r\n"
    "\u2028\u200bad\u200dmin \u05e9\u05dc\u05d5\u05dd a" + "\u0301" * 60 + ' "quoted" \\ end'
)
PAYLOADS = {"tricks": TRICKS, "long": LONG}
STREAMS = re.compile(r"/(changes|watch)\b|follow=true")
HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff]")
SHOWN = """() => document.body.innerText + [...document.querySelectorAll('[title], [aria-label], [alt]')]
  .map(one => [one.title, one.ariaLabel, one.alt].join('\\n')).join('\\n') + document.title"""
SCRIPT = f"""
from danlu import track
given = {{"hparams": {{"{NAME}": "{NAME}"}}, "labels": ["{NAME}"], "description": "{NAME}"}}
run = track.start("{NAME}", folder="{NAME}/{NAME}", **given)
for step in range(3):
    run.log("{NAME}", {{"{NAME}": 1.0 / (step + 1)}}, step=step)
run.log_text("{NAME}", "{NAME}", step=1)
run.summary["{NAME}"] = "{NAME}"
print("{NAME}")
open("{NAME}.csv", "w").write("{NAME},{NAME}\\n1,2\\n")
left = track.artifact("{NAME}", description="{NAME}").add_file("{NAME}.csv")
run.mark_output(left.add_reference("s3://{NAME}/", "{NAME}"))
run.finish()
print(run.id)
"""


def pages_of_names(console: RunningServer, folder: Path) -> dict[str, str]:
    """Make something of every kind called NAME; the addresses of the pages that show it, by name."""
    env = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "DANLU_URL": console.url, "DANLU_API_KEY": console.api_key}
    said = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=folder, env=env, capture_output=True, text=True, check=True
    )
    run = said.stdout.split()[-1]
    artifact = left_by(console, run)
    (folder / NAME).mkdir()
    (folder / NAME / f"{NAME}.txt").write_text(NAME)
    with console.client() as client:
        client.models.register(
            NAME, artifact=f"{NAME}:1", aliases=[NAME], tags={NAME: NAME}, metrics={NAME: 1.0}, description=NAME
        )
        client.store.upload(folder / NAME, f"store://main/{NAME}/")
        client.projects.make(NAME, description=NAME)
        client.people.invite(NAME, full_name=NAME)
        client.people.register(f"{NAME}-too", "correct horse", full_name=NAME, note=NAME)
        client.flavors.add(NAME, cpus=0.1, description=NAME)
        client.frameworks.add(NAME, title=NAME, description=NAME)
        ended = client.jobs.submit(name=NAME, command=f"echo {NAME}; exit 3", tags={NAME: NAME}, env={NAME: NAME})
        waits = client.jobs.submit(name=NAME, command="true", resources={"device": "npu:910b:4"}, nodes=9)
        ended.wait()
    tabs = ("", "/logs", "/metrics", "/resources", "/tasks", "/spec", "/events")
    return {
        "overview": "/",
        "jobs": f"/jobs?q={NAME}&columns=name,state,tags,owner,project,on,reason",
        **{f"job{tab.replace('/', '-')}": f"/jobs/{ended.id}{tab}" for tab in tabs},
        "waits": f"/jobs/{waits.id}",
        "submit": "/submit",
        "clone": f"/submit?from={ended.id}",
        "experiments": "/experiments",
        "folder": f"/experiments?folder={NAME}/{NAME}",
        **{f"run-{tab}": f"/experiments/{run}?tab={tab}" for tab in ("charts", "details", "output", "media", "flow")},
        **{
            f"compare-{tab}": f"/experiments/compare?runs={run}&tab={tab}"
            for tab in ("charts", "values", "parallel", "scatter")
        },
        "artifacts": "/artifacts",
        **{f"artifact-{tab}": f"/artifacts/{artifact}?tab={tab}" for tab in ("files", "versions", "flow")},
        "models": "/models",
        "model": f"/models/{NAME}",
        "model-details": f"/models/{NAME}?version=1",
        "store": "/store",
        "store-folder": f"/store?bucket=main&path={NAME}/",
        "store-file": f"/store?bucket=main&path={NAME}/&file={NAME}/{NAME}.txt",
        "examples": "/examples",
        "cluster": "/cluster",
        "bench": "/bench",
        "projects": "/projects",
        "project": f"/projects/{NAME}",
        "quotas": f"/projects/{NAME}?tab=quotas",
        "people": "/admin",
        "flavors": "/admin?tab=flavors",
        "frameworks": "/admin?tab=frameworks",
        "audit": "/admin?tab=audit",
        "profile": "/profile",
    }


def left_by(console: RunningServer, run: str) -> str:
    """The id of the artifact that the run has left, once it has arrived."""
    with console.client() as client:
        wait_until(lambda: any(one.name == NAME for one in client.artifacts.list()))
        wait_until(lambda: any(one.id == run and one.step == 2 for one in client.runs.list()))
        [version] = client.artifacts.versions(NAME)
        return version.id


class HostileTab(Tab):
    """A browser to which the server seems to be full of such names."""

    def __init__(self, browser: Browser, server: RunningServer, kind: str, width: int) -> None:
        super().__init__(browser, server.url, viewport={"width": width, "height": 800})
        self.look = f"{kind}-{width}"
        self.payload = PAYLOADS[kind]
        with server.client() as client:
            self.node = next(client.nodes()).name

    def begin(self) -> None:
        """From here on answers are changed."""
        self.page.route("**/api/v1/**", self._answer)

    def close(self) -> None:
        """Requests may be on their way; what becomes of them does not matter any more."""
        self.page.unroute_all(behavior="ignoreErrors")
        super().close()

    def wrong_on(self, name: str, path: str) -> list[str]:
        """What is wrong with a page."""
        page = self.go(path.replace(NAME, quote(self.payload, safe="")))
        page.locator("main h1, main h2").first.wait_for()
        page.wait_for_load_state("load")
        for chart in page.locator(".chart-card").all():
            chart.scroll_into_view_if_needed()
        expect(page.locator("main .skeletons"), name).to_have_count(0, timeout=SLOW)
        SHOTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=SHOTS / f"hostile-{self.look}-{name}.png")
        wrong = [*self._hidden(), *(f"{text!r} is cut" for text in self.cut_texts()), *self.errors]
        self.errors.clear()
        if page.locator("img[src=x], main script, a[href^='javascript:']").count():
            wrong.append("a name has become an element")
        if self.overflow() > 0:
            wrong.append(f"{self.overflow()} px too wide")
        return [f"{name}: {one}" for one in wrong]

    def _hidden(self) -> list[str]:
        shown = self.page.evaluate(SHOWN)
        found = HIDDEN.search(shown)
        if found is None:
            return []
        return [f"hidden {found.group()!r} in {shown[max(0, found.start() - 60) : found.end() + 20]!r}"]

    def _answer(self, route: Route) -> None:
        url = route.request.url
        if STREAMS.search(url):
            route.fulfill(status=200, content_type="text/event-stream", body="")
            return
        for code in (quote(self.payload, safe=""), quote_plus(self.payload), quote(self.payload, safe="!~*'()")):
            url = url.replace(code, NAME)
        answered = route.fetch(url=url, max_retries=3)  # of a kept connection that the server has closed
        if "/chunks" in url:
            route.fulfill(response=answered)
            return
        # raw logs and previews are text, everything else is JSON
        is_json = "json" in answered.headers.get("content-type", "") or "/manifest" in url
        hostile = json.dumps(self.payload)[1:-1] if is_json else self.payload
        body = answered.text().replace(NAME, hostile)
        route.fulfill(response=answered, body=body.replace(f'"{self.node}"', f'"{hostile}"') if is_json else body)
