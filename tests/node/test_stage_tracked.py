"""Runs and artifacts of a job on the way to a server that refuses some of it for a while, or for good."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.fakes.run_server import RunServer, accepts_all
from tests.node.test_stager import Stager
from tests.support.drafts import write_artifact
from tests.support.journals import JournalMaker

from danlu.node.stage.tracked import Tracked
from danlu.testing.waiting import wait_until
from danlu.transfer.api import Api
from danlu.transfer.errors import Refused
from danlu.transfer.http_carrier import HttpCarrier
from danlu.transfer.retrying import Retry

LONG_SECONDS = 1000.0
ARTIFACTS = "ml/runs/artifacts"
Refuses = Callable[[str, str, bytes], int]


@pytest.fixture
def server() -> Iterator[RunServer]:
    with RunServer().serving() as server:
        yield server


def start(folder: Path, server: RunServer) -> Stager:
    """Each request is made once, as at the end of patience."""
    return Stager(folder, server, "out", runs=str(folder / "ml/runs"), out_patience_seconds=0.0)


def write_run(folder: Path, name: str = "a") -> JournalMaker:
    made = JournalMaker().log("train", {"loss": [1.0, 2.0]}, range(2)).finish()
    place = folder / "ml/runs" / name
    place.mkdir(parents=True)
    (place / f"{made.name}.journal").write_bytes(made.data)
    return made


def refuses(status: int, part: str) -> Refuses:
    """Refuse requests that name something in their path or body."""
    return lambda _, path, body: status if part in path or part.encode() in body else 0


def journals_of(server: RunServer) -> dict[str, bytes]:
    return {journal: bytes(data) for (_, journal), data in server.journals.items()}


class TestRuns:
    @pytest.mark.parametrize("status", [507, 503, 500, 429])
    def test_a_run_that_the_server_has_no_room_for_is_sent_later(
        self, tmp_path: Path, server: RunServer, status: int
    ) -> None:
        first, second = write_run(tmp_path, "a"), write_run(tmp_path, "b")
        server.refuse = refuses(status, first.name)
        run = start(tmp_path, server)
        wait_until(lambda: server.refusals and journals_of(server) == {second.name: second.data})
        server.refuse = accepts_all
        assert run.finish() is None
        assert journals_of(server) == {first.name: first.data, second.name: second.data}

    def test_one_that_is_refused_for_good_is_not_sent_again(self, tmp_path: Path, server: RunServer) -> None:
        first = write_run(tmp_path)
        server.refuse = refuses(422, first.name)
        run = start(tmp_path, server)
        wait_until(lambda: server.refusals)
        server.refuse = accepts_all
        assert run.finish() is None
        assert journals_of(server) == {}
        assert "the server rejected this run: 422 not now" in run.said

    def test_what_is_refused_until_the_end_is_told(self, tmp_path: Path, server: RunServer) -> None:
        server.refuse = refuses(507, write_run(tmp_path).name)
        failure = start(tmp_path, server).finish()
        assert failure is not None
        assert failure["reason"] == "upload_failed"
        assert f"507 not now; the files are kept in {tmp_path}" in failure["message"]


class TestArtifacts:
    def test_versions_of_one_name_keep_their_order(self, tmp_path: Path, server: RunServer) -> None:
        for at, (artifact, name) in enumerate([("art-z", "model"), ("art-y", "model"), ("art-x", "other")]):
            write_artifact(tmp_path / ARTIFACTS, artifact, name=name, at=float(at))
        server.refuse = refuses(507, "art-z/commit")
        run = start(tmp_path, server)
        wait_until(lambda: server.versions == {"other": ["art-x"]})
        server.refuse = accepts_all
        assert run.finish() is None
        assert server.versions == {"other": ["art-x"], "model": ["art-z", "art-y"]}

    def test_one_that_is_refused_for_good_does_not_hold_up_the_next_version(
        self, tmp_path: Path, server: RunServer
    ) -> None:
        for at, artifact in enumerate(["art-z", "art-y"]):
            write_artifact(tmp_path / ARTIFACTS, artifact, name="model", at=float(at))
        server.refuse = refuses(422, "art-z/commit")
        run = start(tmp_path, server)
        assert run.finish() is None
        assert server.versions == {"model": ["art-y"]}
        assert "art-z: this artifact is not on the server: 422 not now" in run.said

    def test_a_link_waits_for_its_run(self, tmp_path: Path, server: RunServer) -> None:
        made = write_run(tmp_path)
        write_artifact(tmp_path / ARTIFACTS, "art-z", name="model", at=1.0, run=made.run)
        server.refuse = lambda _, path, __: 507 if path.endswith("/runs") else 0
        run = start(tmp_path, server)
        wait_until(lambda: server.versions == {"model": ["art-z"]})
        server.refuse = accepts_all
        assert run.finish() is None
        assert server.links == {("art-z", made.run)}
        assert server.versions == {"model": ["art-z"]}

    def test_a_link_with_a_run_that_is_nowhere_is_told(self, tmp_path: Path, server: RunServer) -> None:
        write_artifact(tmp_path / ARTIFACTS, "art-z", name="model", at=1.0, run="run-nowhere")
        run = start(tmp_path, server)
        assert run.finish() is None
        assert "art-z: this artifact is not on the server: 404 no run run-nowhere" in run.said


class TestRest:
    def test_a_full_server_is_waited_for_after_the_command(
        self, tmp_path: Path, server: RunServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        made = write_run(tmp_path)
        server.refuse = lambda *_: 507 if len(server.refusals) < 2 else 0
        monkeypatch.chdir(tmp_path)
        carrier = HttpCarrier(server.url, server.token)
        said: list[str] = []
        Tracked(Api(carrier, Retry(0.0)), "ml/runs", say=said.append).send_rest(LONG_SECONDS)
        carrier.close()
        assert journals_of(server) == {made.name: made.data}
        assert said == ["runs or artifacts have to wait: 507 not now; trying again in a moment"] * 2

    def test_patience_has_an_end(self, tmp_path: Path, server: RunServer, monkeypatch: pytest.MonkeyPatch) -> None:
        write_run(tmp_path)
        server.refuse = lambda *_: 507
        monkeypatch.chdir(tmp_path)
        carrier = HttpCarrier(server.url, server.token)
        with pytest.raises(Refused, match="not now"):
            Tracked(Api(carrier, Retry(0.0)), "ml/runs", say=lambda _: None).send_rest(0.0)
        carrier.close()
