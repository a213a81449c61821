"""Somebody's jobs, all together: they hold no more of the server than their owner could."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.conftest import end_server
from tests.support.world import World

from danlu.auth.identity import Role
from danlu.client import Client
from danlu.client.people.keys import parse_link, sign_in
from danlu.server.identity import person_of, sender_of
from danlu.spec.states import JobState
from danlu.testing.serving import RunningServer
from danlu.wire.auth import SignIn

MAX_HELD = 30
HOLDS = f"""
import os, socket, time, urllib.parse
where = urllib.parse.urlsplit(os.environ["DANLU_URL"])
held = []
while len(held) < {2 * MAX_HELD}:
    one = socket.create_connection((where.hostname, where.port))
    one.sendall(b"POST /api/v1/jobs HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 60000\\r\\n\\r\\nnot all of it")
    held.append(one)
print("holds", flush=True)
while True:
    time.sleep(0.2)
    for one in held:
        try:
            one.sendall(b"x" * 200)
        except OSError:
            pass
"""
ASKS = """
import os, urllib.request
with urllib.request.urlopen(os.environ["DANLU_URL"] + "/api/v1/health") as answer:
    print(answer.status)
"""


@pytest.fixture
def small(tmp_path: Path) -> Iterator[RunningServer]:
    """A server with few connections for one address. All jobs and all stagers come from its own machine."""
    running = RunningServer(tmp_path / "data")
    running.env["DANLU_SERVER_MAX_CONNECTIONS_PER_ADDRESS"] = str(MAX_HELD)
    yield running.start()
    end_server(running)


def test_her_jobs_take_no_connections_of_others(small: RunningServer) -> None:
    """Everybody's stagers and jobs reach the server from the same machine."""
    with small.client() as admin:
        if not all(node.has_own_network for node in admin.nodes()):
            pytest.skip("jobs have no network of their own here")
        eve, bob = (_person(small, admin, name) for name in ("eve", "bob"))
    with eve, bob:
        hers = eve.jobs.submit(name="holds", command=["python3", "-u", "-c", HOLDS])
        assert next(iter(hers.logs(follow=True))).text == "holds"
        his = bob.jobs.submit(name="asks", command=["python3", "-c", ASKS])
        assert [line.text for line in his.logs(follow=True)] == ["200"]
        assert his.wait().state is JobState.SUCCEEDED
        assert hers.refresh().state is JobState.RUNNING


def test_all_of_them_have_one_share_and_each_its_uploads(world: World) -> None:
    ada, bob = (world.add_user(name, "vision", Role.MEMBER) for name in ("ada", "bob"))
    first, second, his = (world.job_identity(world.started(who=who)) for who in (ada, ada, bob))
    acting = world.job_identity(world.started(who=ada, access="owner")).owner
    assert acting is not None
    assert {person_of(one) for one in (first, second, acting)} == {f"jobs of {ada.user_id}"}
    assert person_of(his) == f"jobs of {bob.user_id}"
    assert person_of(ada) == f"user {ada.user_id}"
    assert len({sender_of(one) for one in (first, second, acting, his, ada)}) == 5


def _person(server: RunningServer, admin: Client, name: str) -> Client:
    admin.projects.make(f"{name}s")
    admin.store.make_bucket(f"{name}s", project=f"{name}s")
    link = admin.people.invite(name, project=f"{name}s", role="member")
    key = sign_in(server.url, SignIn(token=parse_link(link.url).token), key_name="test").api_key
    return Client(url=server.url, api_key=key)
