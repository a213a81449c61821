"""The entry point of the SDK."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from types import TracebackType
from typing import Optional, Union
from urllib.parse import quote

from danlu.client.bodies import body
from danlu.client.cluster.flavors import Flavors
from danlu.client.cluster.frameworks import Frameworks
from danlu.client.config import load_settings
from danlu.client.files.shared import Shared
from danlu.client.files.store import Store
from danlu.client.http import Http
from danlu.client.jobs.examples import Examples
from danlu.client.jobs.jobs import Jobs
from danlu.client.jobs.templates import Templates
from danlu.client.moments import Since
from danlu.client.pages import pages
from danlu.client.people.costs import read_costs
from danlu.client.people.keys import Keys
from danlu.client.people.notices import Notices, list_alerts
from danlu.client.people.people import People
from danlu.client.people.projects import Projects
from danlu.client.people.quotas import Quotas
from danlu.client.people.ssh_keys import SshKeys
from danlu.client.people.webhooks import Webhooks
from danlu.client.tracking.artifacts import Artifacts
from danlu.client.tracking.flow import MAX_NODES, Flow, read_flow
from danlu.client.tracking.models import Models
from danlu.client.tracking.runs import Runs
from danlu.client.uncaught import tell_briefly
from danlu.spec.flow import Direction
from danlu.wire.audit import AuditOut
from danlu.wire.auth import MeOut, SetPassword
from danlu.wire.costs import CostsOut
from danlu.wire.monitoring.alerts import AlertOut
from danlu.wire.nodes import DrainNode, EnvironmentOut, HealthOut, NodeOut


class Client:
    """A Danlu server, as one user sees it. Thread-safe.

        client = danlu.Client()
        job = client.jobs.submit(name="hello", command="echo hello", nodes=2)
        for line in job.logs(follow=True):
            print(line.rank, line)
        print(job.wait().state)

    Inside a job no configuration is needed: the client uses the credentials of the job, and has its permissions.
    Elsewhere, URL and key are taken from the arguments, else `DANLU_URL` and `DANLU_API_KEY`, else `./.danlu.yml`, else
    `~/.danlu/config.yml` (written by `danlu login`), else `http://127.0.0.1:8400`. Nothing is sent before the first
    call.
    """

    def __init__(self, url: Optional[str] = None, api_key: Optional[str] = None) -> None:
        tell_briefly()
        self.settings = load_settings(url=url, api_key=api_key)
        self._http = Http(self.settings.url, self.settings.credentials)
        self.jobs = Jobs(self._http)
        self.examples = Examples(self._http, self.jobs)
        self.store = Store(self._http)
        self.shared = Shared(self._http, self.store, self.jobs)
        self.keys = Keys(self._http)
        self.ssh_keys = SshKeys(self._http)
        self.notices = Notices(self._http)
        self.webhooks = Webhooks(self._http)
        self.runs = Runs(self._http)
        self.models = Models(self._http)
        self.artifacts = Artifacts(self._http)
        self.people = People(self._http)
        self.projects = Projects(self._http)
        self.quotas = Quotas(self._http)
        self.templates = Templates(self._http)
        self.flavors = Flavors(self._http)
        self.frameworks = Frameworks(self._http)

    @property
    def url(self) -> str:
        return self.settings.url

    def me(self) -> MeOut:
        return self._http.get("/me", MeOut)

    def set_password(self, password: str, *, current: Optional[str] = None) -> None:
        """Set your password; `current` is required if you have one."""
        self._http.send("PUT", "/me/password", body=body(SetPassword, password=password, current=current))

    def audit(
        self,
        *,
        person: Optional[str] = None,
        object: Optional[str] = None,
        action: Optional[str] = None,
        project: Optional[str] = None,
        since: Optional[datetime] = None,
        until: Optional[datetime] = None,
    ) -> Iterator[AuditOut]:
        """Entries of the audit log, newest first: all for admins, those of their projects for owners."""
        query = {"person": person, "object": object, "action": action, "project": project}
        times = {"since": _moment(since), "until": _moment(until)}
        return pages(self._http, "/audit", AuditOut, query={**query, **times})

    def alerts(self, *, is_open: Optional[bool] = None) -> Iterator[AlertOut]:
        """Alerts about jobs that you can see, newest first. `is_open`: True for current alerts only, False for past
        ones only."""
        return list_alerts(self._http, is_open=is_open)

    def costs(self, *, since: Optional[Since] = None, until: Optional[Since] = None) -> CostsOut:
        """What jobs cost, by project and user: in total, or between two moments (datetimes, or text such as `30d`).

        For admins.
        """
        return read_costs(self._http, since=since, until=until)

    def flow(
        self,
        node: str,
        *,
        direction: Union[Direction, str] = Direction.BOTH,
        depth: int = 5,
        max_nodes: int = MAX_NODES,
    ) -> Flow:
        """The lineage of something, up to `depth` steps away.

            for node in client.flow("model:mnist:champion", direction="up").nodes.values():
                print(node.distance, node.kind, node.label)

        `node` is the id of a job, a run, an artifact version or a model version, `kind:name`, or `store://bucket/path`.
        """
        return read_flow(self._http, node, direction=direction, depth=depth, max_nodes=max_nodes)

    def nodes(self) -> Iterator[NodeOut]:
        return pages(self._http, "/nodes", NodeOut)

    def environments(self) -> Iterator[EnvironmentOut]:
        """Environments that the nodes keep for jobs of your projects."""
        return pages(self._http, "/nodes/environments", EnvironmentOut)

    def drain_node(self, name: str, reason: str, *, evict: bool = False) -> NodeOut:
        """Start nothing new on a node; running tasks continue. For admins.

        `evict`: preempt the preemptible jobs there. They get their grace period, and return to the queue.
        """
        wanted = body(DrainNode, reason=reason, evict=evict)
        return self._http.put(f"/nodes/{quote(name, safe='')}/drain", NodeOut, body=wanted)

    def open_node(self, name: str) -> NodeOut:
        """Allow new tasks on a drained node again. Idempotent. For admins."""
        return self._http.delete(f"/nodes/{quote(name, safe='')}/drain", NodeOut)

    def health(self) -> HealthOut:
        return self._http.get("/health", HealthOut)

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()


def _moment(moment: Optional[datetime]) -> Optional[str]:
    """A naive datetime is local time."""
    return None if moment is None else moment.astimezone().isoformat()
