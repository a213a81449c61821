"""Two servers on one PostgreSQL and one S3 service: they share the work, and a rolling restart loses nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests.support.endpoints import Browser, start_app
from tests.support.stores import S3Servers
from tests.support.team import Team, running_team, s3_env

from danlu.errors import DanluError
from danlu.spec.states import JobState, is_over
from danlu.testing.postgres import Postgres
from danlu.testing.serving import RunningServer
from danlu.testing.waiting import wait_until


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory, postgres: Postgres, s3_servers: S3Servers) -> Iterator[Team]:
    with running_team(tmp_path_factory.mktemp("team"), postgres, s3_servers) as running:
        yield running


def test_what_one_server_takes_the_other_knows(team: Team, tmp_path: Path) -> None:
    first, second = team.servers
    (tmp_path / "in.txt").write_text("from the store\n")
    code = tmp_path / "code"
    code.mkdir()
    (code / "main.py").write_text(
        "import os\nprint(open(os.environ['DANLU_DATA_DIR'] + '/in/in.txt').read().upper())\n"
    )
    with first.client() as one, second.client() as other:
        one.store.upload(tmp_path / "in.txt", "main/in/")
        job = other.jobs.submit(
            name="shared",
            command="python3 main.py && echo result > $DANLU_OUTPUT_DIR/made.txt",
            code={"path": str(code)},
            data={"store://main/in/": "in"},
        )
        ended = one.jobs.get(job.id).wait()
        assert ended.state is JobState.SUCCEEDED, ended.reason
        assert "FROM THE STORE" in "".join(line.text for line in other.jobs.get(job.id).logs())
        (made,) = one.store.download(f"{ended.output}made.txt", tmp_path / "out.txt")
        assert made.read_text() == "result\n"


def test_either_server_serves_an_endpoint_to_whom_the_other_let_in(team: Team) -> None:
    first, second = team.servers
    with first.client() as one, second.client() as other:
        job = start_app(one)
        here, there = (client.jobs.get(job.id).endpoints.link(8080).url for client in (one, other))
        grant = httpx.URL(here).params["grant"]
        with Browser(str(httpx.URL(there).copy_set_param("grant", grant))).enter() as browser:
            assert browser.get("/a%2Fb").json() == {"path": "/a%2Fb"}
            with browser.websocket() as opened:
                opened.send("through the other")
                assert opened.recv() == "through the other"
            with Browser(here) as back:
                assert back.get("/x", Cookie=browser.cookie).json() == {"path": "/x"}
            one.jobs.get(job.id).endpoints.close(8080)
            wait_until(lambda: browser.get("/x").status_code == 404)
        job.stop()


def test_models_are_numbered_once_and_an_alias_is_always_somewhere(team: Team, tmp_path: Path) -> None:
    (tmp_path / "weights.pt").write_text("w")
    versions: list[int] = []
    failures: list[BaseException] = []
    done = threading.Event()

    def register(server: RunningServer) -> None:
        try:
            with server.client() as client:
                for _ in range(6):
                    made = client.models.register("shared", path="store://main/weights/", aliases=["champion"])
                    versions.append(made.version)
        except BaseException as error:
            failures.append(error)

    def look(server: RunningServer) -> None:
        try:
            with server.client() as client:
                while not done.is_set():
                    assert client.models.version("shared:champion").aliases == ["champion"]
        except BaseException as error:
            failures.append(error)

    with team.servers[0].client() as client:
        client.store.upload(tmp_path / "weights.pt", "main/weights/")
        client.models.register("shared", path="store://main/weights/", aliases=["champion"])
        looking = threading.Thread(target=look, args=(team.servers[1],))
        registering = [threading.Thread(target=register, args=(server,)) for server in team.servers * 2]
        for thread in (looking, *registering):
            thread.start()
        for thread in registering:
            thread.join()
        done.set()
        looking.join()
        assert failures == []
        assert sorted(versions) == list(range(2, 26))
        assert client.models.get("shared").aliases == {"champion": 25}
        assert len(client.flow("store://main/weights/", direction="down").of_kind("model")) == 25
        (file,) = client.models.download("shared:7", tmp_path / "out")
        assert file.read_text() == "w"


def test_devices_are_given_once_though_both_serve_the_queue(team: Team) -> None:
    with team.servers[0].client() as one, team.servers[1].client() as other:
        ids = [
            client.jobs.submit(name=f"npu-{number}", command="sleep 1", resources={"device": "npu:4"}).id
            for number in range(3)
            for client in (one, other)
        ]
        counts = []

        def are_over() -> bool:
            found = list(one.jobs.list())
            counts.append(sum(job.state in (JobState.STARTING, JobState.RUNNING) for job in found))
            return all(is_over(job.state) for job in found if job.id in ids)

        wait_until(are_over)
        assert max(counts) <= 2
        assert {one.jobs.get(job_id).state for job_id in ids} == {JobState.SUCCEEDED}


def test_a_rolling_restart_loses_no_acknowledged_request(team: Team) -> None:
    acknowledged: list[str] = []
    refused: list[str] = []
    is_over_now = threading.Event()

    def submit() -> None:
        with team.client() as client:
            while not is_over_now.is_set():
                try:
                    acknowledged.append(client.jobs.submit(name="rolling", command="echo done").id)
                except DanluError as error:
                    refused.append(str(error))
                is_over_now.wait(0.25)

    thread = threading.Thread(target=submit)
    thread.start()
    for server in team.servers:
        wanted = len(acknowledged) + 5
        wait_until(lambda wanted=wanted: len(acknowledged) >= wanted, lambda: refused)  # type: ignore[misc]
        server.stop()
        server.start()
    is_over_now.set()
    thread.join()
    assert refused == []
    assert len(acknowledged) >= 10
    with team.client() as client:
        for job_id in acknowledged:
            job = client.jobs.get(job_id).wait()
            assert (job.state, len(job.details.attempts)) == (JobState.SUCCEEDED, 1), job.reason
            assert [line.text.strip() for line in job.logs()] == ["done"]


def test_servers_that_do_not_fit_are_refused(team: Team, tmp_path: Path) -> None:
    twin = RunningServer(team.servers[0].data_dir, name="a")
    twin.env = team.env
    with pytest.raises(RuntimeError, match=r"another Danlu server called 'a' uses .*; give each its own --name"):
        twin.start()
    stranger = RunningServer(tmp_path / "elsewhere", name="c")
    stranger.env = team.env
    with pytest.raises(RuntimeError, match="servers on one database share one data folder"):
        stranger.start()
    lost = RunningServer(team.servers[0].data_dir, name="d")
    lost.env = {**team.env, "DANLU_SERVER_OBJECTS_URL": ""}
    with pytest.raises(RuntimeError, match="give every server the same objects_url"):
        lost.start()


@pytest.mark.parametrize("kind", ["rclone", pytest.param("moto", marks=pytest.mark.long)])
def test_large_inputs_and_outputs_go_past_the_server(s3_servers: S3Servers, tmp_path: Path, kind: str) -> None:
    """With direct transfers, between the node and the object service itself."""
    server = RunningServer(tmp_path / "data")
    server.env = {**s3_env(s3_servers.get(kind).below(f"direct-{kind}")), "DANLU_SERVER_DIRECT_TRANSFERS": "true"}
    server.start()
    try:
        with server.client() as client:
            (tmp_path / "in.bin").write_bytes(b"0123456789abcdef" * (5 << 20))
            client.store.upload(tmp_path / "in.bin", "main/in/")
            job = client.jobs.submit(
                name="direct",
                command="cp $DANLU_DATA_DIR/in/in.bin $DANLU_OUTPUT_DIR/out.bin",
                data={"store://main/in/": "in"},
            ).wait()
            assert job.state is JobState.SUCCEEDED, job.reason
            (back,) = client.store.download(f"{job.output}out.bin", tmp_path / "out.bin")
            assert back.read_bytes() == (tmp_path / "in.bin").read_bytes()
        assert not (server.data_dir / "server" / "uploads").exists()
    finally:
        server.stop()
