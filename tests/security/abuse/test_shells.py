"""Shells in running tasks: input that nobody reads, output that nobody fetches, and who may stay."""

from __future__ import annotations

import base64
import hashlib
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import httpx
import pytest

from danlu.client import Client, Job
from danlu.client.jobs.terminals import Size
from danlu.client.people.keys import parse_link, sign_in
from danlu.errors import DanluError, NotAllowed, NotFound, TooManyRequests
from danlu.spec.states import JobState
from danlu.testing.serving import RunningServer
from danlu.testing.waiting import wait_until
from danlu.wire.auth import SignIn

BLOCK = base64.b64encode(b"x" * (64 << 10)).decode()


@dataclass
class Team:
    server: RunningServer
    admin: Client
    eve: Client
    eves_key: str
    job: Job
    """Eve's, and running."""

    bob: Client

    def bob_works(self) -> None:
        job = self.bob.jobs.submit(name="bob", command="echo done")
        assert [line.text for line in job.logs(follow=True)] == ["done"]
        assert job.wait().state is JobState.SUCCEEDED

    def raw(self) -> httpx.Client:
        headers = {"Authorization": f"Bearer {self.eves_key}"}
        limits = httpx.Limits(max_connections=200)
        return httpx.Client(
            base_url=f"{self.server.url}/api/v1/jobs/{self.job.id}", headers=headers, timeout=None, limits=limits
        )


@pytest.fixture
def team(make_server: Callable[..., RunningServer]) -> Iterator[Team]:
    server = make_server()
    with server.client() as admin, ExitStack() as stack:
        keys = {}
        for name in ("eve", "bob"):
            admin.projects.make(f"{name}s")
            admin.store.make_bucket(f"{name}s", project=f"{name}s")
            link = admin.people.invite(name, project=f"{name}s", role="member")
            keys[name] = sign_in(server.url, SignIn(token=parse_link(link.url).token), key_name="test").api_key
        eve, bob = (stack.enter_context(Client(url=server.url, api_key=key)) for key in keys.values())
        job = eve.jobs.submit(name="eve", command="sleep 600")
        wait_until(lambda: job.refresh().state is JobState.RUNNING, lambda: job.refresh().reason)
        yield Team(server, admin, eve, keys["eve"], job, bob)


def test_fifty_inputs_that_nobody_reads_hold_no_thread(team: Team) -> None:
    with team.job.terminal(command=["sleep", "600"]) as shell, team.raw() as http:
        path = f"{shell._path.rpartition(team.job.id)[2]}/input"
        answers: list[httpx.Response] = []
        threads = [
            threading.Thread(target=lambda: answers.append(http.post(path, json={"data": BLOCK}))) for _ in range(50)
        ]
        for thread in threads:
            thread.start()
        team.bob_works()
        for thread in threads:
            thread.join()
        assert len(answers) == 50
        # a pipe holds the first; of the others four wait for a while, and the rest is told to come back
        assert sorted({answer.status_code for answer in answers}) in ([204, 429], [429])
        refused = [answer for answer in answers if answer.status_code == 429]
        assert len(refused) >= 48
        assert all(answer.headers["Retry-After"] for answer in refused)
        assert "the command does not read its input" in "".join(answer.text for answer in refused)


def test_input_goes_on_where_the_command_goes_on_reading(team: Team) -> None:
    """More than pipes hold, to a command that reads it late: nothing is lost, and nothing comes twice."""
    data = b"".join(b"%07d\n" % number for number in range(40_000))
    with team.job.terminal(command=["sh", "-c", "sleep 7; sha256sum"]) as shell:
        shell.write(data)
        shell.write(b"")
        said = b"".join(shell.output())
    assert said.decode().split()[0] == hashlib.sha256(data).hexdigest()


def test_ten_shells_whose_output_nobody_reads_are_the_most(team: Team) -> None:
    with ExitStack() as stack:
        for _ in range(10):
            stack.enter_context(team.job.terminal(command=["yes"]))
        with pytest.raises(TooManyRequests, match="you have 10 shells open, which is the maximum; close one first"):
            team.job.terminal(command=["true"])
        team.bob_works()
    assert team.job.terminal(command=["true"]) is not None  # closed ones are not counted


def test_many_who_wait_for_the_same_output_are_told_to_come_back(team: Team) -> None:
    with team.raw() as http:
        statuses: list[int] = []
        with team.job.terminal(command=["sleep", "600"]) as shell:
            path = f"{shell._path.rpartition(team.job.id)[2]}/output"
            threads = [threading.Thread(target=lambda: statuses.append(http.get(path).status_code)) for _ in range(30)]
            for thread in threads:
                thread.start()
            wait_until(lambda: len(statuses) >= 26, lambda: statuses)
            assert set(statuses[:26]) == {429}
            team.bob_works()
            assert team.eve.jobs.get(team.job.id).state is JobState.RUNNING  # her other requests do not wait for these
        for thread in threads:
            thread.join()


def test_somebody_who_may_only_look_any_more_types_no_more(team: Team) -> None:
    with team.job.terminal(command=["sh"]) as shell:
        shell.write(b"echo in\n")
        assert next(shell.output()) == b"in\n"
        team.admin.projects.set_member("eves", "eve", "viewer")
        with pytest.raises((NotAllowed, NotFound)):
            shell.write(b"echo still in\n")
        with pytest.raises((NotAllowed, NotFound)):
            next(shell.output())
        assert team.eve.jobs.get(team.job.id).state is JobState.RUNNING  # she still sees it


def test_a_shell_of_somebody_who_may_not_stay_is_closed(team: Team) -> None:
    """Even when nothing is typed: what runs in it gets SIGHUP."""
    waits = "trap 'touch $PWD/hung-up; exit' HUP; touch opened; while :; do sleep 0.1; done"
    shell = team.job.terminal(command=["sh", "-c", waits], size=Size(24, 80))
    seen = team.admin.jobs.get(team.job.id)
    wait_until(lambda: "opened" in _run(seen, "ls"), lambda: None)
    team.admin.people.disable("eve")
    wait_until(lambda: "hung-up" in _run(seen, "ls"), lambda: None)
    with pytest.raises(DanluError):
        shell.write(b"x")


def _run(job: Job, *command: str) -> str:
    with job.terminal(command=command) as terminal:
        return b"".join(terminal.output()).decode()
