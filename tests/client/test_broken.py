"""Connections that break: what is tried again, what is not, and what people read in the end."""

from __future__ import annotations

import hashlib
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.support.recording_carrier import RecordingCarrier

from danlu import Client
from danlu.client.http import Http
from danlu.errors import BadChecksum, Conflict, InvalidInput, NotAllowed, NotFound, ServerUnreachable, Unavailable
from danlu.spec.states import JobState
from danlu.transfer.api import Api
from danlu.transfer.object_upload import OneProblem, Outgoing, send_objects
from danlu.transfer.retrying import Retry

if TYPE_CHECKING:
    from tests.client.conftest import Peer

ME = {"name": "ada", "is_admin": True, "projects": ["main"]}


def job_body(**changes: Any) -> dict[str, Any]:
    return {
        "id": "train-1",
        "name": "a",
        "project": "main",
        "owner": "ada",
        "state": "running",
        "desired": "run",
        "reason": {"code": "running", "message": "It runs."},
        "nodes": 1,
        "device": "cpu:1",
        "launch": "plain",
        "attempt": 1,
        "priority": 50,
        "created_at": "2026-01-01T00:00:00Z",
        "spec": {},
        "output": "store://main/jobs/train-1/",
        **changes,
    }


@pytest.fixture
def client(peer: Peer) -> Iterator[Client]:
    with Client(url=peer.url, api_key="key") as client:
        yield client


class TestRequests:
    def test_a_read_is_sent_again(self, peer: Peer, client: Client) -> None:
        peer.hangs_up()
        peer.answers(b'{"na', length=100)
        peer.answers_json(ME)
        assert client.me().name == "ada"
        assert peer.paths == ["/api/v1/me"] * 3

    def test_a_server_that_is_starting_is_asked_again(self, peer: Peer, client: Client) -> None:
        peer.answers(b"<h1>Bad gateway</h1>", status="502 Bad Gateway")
        peer.answers_json({"error": "Unavailable", "message": "not yet"}, status="503 Service Unavailable")
        peer.answers_json(ME)
        assert client.me().name == "ada"

    def test_what_the_server_says_last_is_what_is_raised(self, peer: Peer, client: Client) -> None:
        for _ in range(20):
            peer.answers_json({"error": "Unavailable", "message": "the disk is away"}, status="503 x")
        with pytest.raises(Unavailable, match="the disk is away"):
            client.me()

    def test_a_submit_is_sent_again_with_the_same_request_id(self, peer: Peer, client: Client) -> None:
        peer.hangs_up()
        peer.answers_json(job_body(), status="201 Created")
        assert client.jobs.submit(name="a", command="true").id == "train-1"
        first, second = (json.loads(asked.body) for asked in peer.asked)
        assert first == second
        assert len(first["request_id"]) >= 8

    def test_a_request_that_must_not_happen_twice_is_sent_once(self, peer: Peer, client: Client) -> None:
        peer.hangs_up()
        with pytest.raises(ServerUnreachable, match=f"the connection to {peer.url} broke off"):
            client.keys.make("x")
        assert len(peer.asked) == 1

    def test_nobody_there_names_the_address_and_the_remedy(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        told = f"no server answers at http://127.0.0.1:{port} .*`danlu up`"
        with Client(url=f"http://127.0.0.1:{port}") as client, pytest.raises(ServerUnreachable, match=told):
            client.me()

    def test_the_classes_of_the_server_are_raised(self, peer: Peer, client: Client) -> None:
        body = {"error": "NotAllowed", "message": "not yours", "fields": {"job": "x"}}
        peer.answers_json(body, status="403 Forbidden")
        with pytest.raises(NotAllowed) as caught:
            client.me()
        assert (caught.value.message, caught.value.fields) == ("not yours", {"job": "x"})

    def test_something_else_than_danlu_is_said_to_be_that(self, peer: Peer, client: Client) -> None:
        peer.answers(b"<html>welcome</html>", "Content-Type: text/html")
        with pytest.raises(Unavailable, match="is the address right"):
            client.me()
        peer.answers(b"", "Location: /elsewhere", status="302 Found")
        with pytest.raises(Unavailable, match="not the address of a Danlu server"):
            client.me()

    def test_credentials_go_along_and_proxies_do_not_see_loopback(
        self, peer: Peer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
        peer.answers_json(ME)
        with Client(url=peer.url, api_key="key") as client:
            client.me()
        assert peer.asked[0].headers["authorization"] == "Bearer key"


class TestNames:
    @pytest.mark.parametrize("name", ["", " "])
    def test_an_empty_name_is_refused_before_anything_is_sent(self, peer: Peer, client: Client, name: str) -> None:
        with pytest.raises(InvalidInput, match="the name of the job is empty"):
            client.jobs.get(name)
        assert peer.asked == []


class TestWait:
    def test_a_watch_that_breaks_is_opened_again(self, peer: Peer, client: Client) -> None:
        peer.answers_json(job_body(state="queued"))
        peer.streams(("job", job_body()), is_whole=False)
        peer.hangs_up()
        peer.streams(("job", job_body(state="failed", reason={"code": "lost", "message": "gone"})))
        job = client.jobs.get("a")
        assert job.wait().state is JobState.FAILED
        assert job.reason.code == "lost"
        assert peer.paths[1:] == ["/api/v1/jobs/train-1/watch"] * 3

    def test_a_stream_that_is_none_is_replaced_by_asking(self, peer: Peer, client: Client) -> None:
        peer.answers_json(job_body())
        peer.answers(b"<html>", "Content-Type: text/html")
        peer.answers_json(job_body(state="succeeded"))
        assert client.jobs.get("a").wait().state is JobState.SUCCEEDED
        assert peer.paths[-1] == "/api/v1/jobs/train-1"

    def test_the_time_is_up_even_when_the_server_is_silent(self, peer: Peer, client: Client) -> None:
        peer.answers_json(job_body())
        peer.streams(("job", job_body()), holds=True)
        with pytest.raises(TimeoutError, match=r"train-1 is still running: It runs\."):
            client.jobs.get("a").wait(timeout=0.3)


def chunk(offset: int, text: str, rank: int = 0, attempt: int = 1) -> tuple[str, dict[str, Any]]:
    next_offset = offset + len(text.encode())
    return "log", {"attempt": attempt, "rank": rank, "offset": offset, "next_offset": next_offset, "text": text}


def query_of(path: str) -> dict[str, list[str]]:
    return parse_qs(urlsplit(path).query)


class TestLogs:
    def test_a_stream_that_breaks_goes_on_where_it_broke(self, peer: Peer, client: Client) -> None:
        peer.answers_json(job_body(nodes=2))
        peer.streams(chunk(0, "a\nb"), chunk(0, "x\n", rank=1), is_whole=False)
        peer.hangs_up()
        peer.streams(chunk(3, "c\n"), is_whole=False)
        peer.streams(chunk(2, "é\n", rank=1), ("end", {"attempt": 1, "state": "succeeded"}))
        lines = list(client.jobs.get("a").logs(follow=True))
        assert [(line.rank, line.text) for line in lines] == [(0, "a"), (1, "x"), (0, "bc"), (1, "é")]
        assert [query_of(path).get("from") for path in peer.paths[1:]] == [
            None,
            ["0:3", "1:2"],
            ["0:3", "1:2"],
            ["0:5", "1:2"],
        ]
        assert all(query_of(path).get("attempt") == ["1"] for path in peer.paths[2:])

    def test_what_is_sent_twice_is_read_once(self, peer: Peer, client: Client) -> None:
        peer.answers_json(job_body())
        peer.streams(chunk(0, "a\n"), chunk(2, "b\n"), is_whole=False)
        peer.streams(chunk(0, "a\n"), chunk(2, "b\n"), chunk(4, "c\n"), ("end", {"attempt": 1, "state": "failed"}))
        assert [line.text for line in client.jobs.get("a").logs(follow=True)] == ["a", "b", "c"]

    def test_without_follow_it_ends_with_the_stream_but_not_with_a_break(self, peer: Peer, client: Client) -> None:
        peer.answers_json(job_body())
        peer.streams(chunk(0, "a\n"), is_whole=False)
        peer.streams(chunk(2, "not ended"))
        assert [line.text for line in client.jobs.get("a").logs()] == ["a", "not ended"]

    def test_the_next_attempt_is_followed_too(self, peer: Peer, client: Client) -> None:
        peer.answers_json(job_body())
        peer.streams(chunk(0, "first\n"), ("end", {"attempt": 1, "state": "queued"}))
        peer.answers_json(job_body(attempt=2))
        peer.streams(chunk(0, "second\n", attempt=2), ("end", {"attempt": 2, "state": "succeeded"}))
        lines = list(client.jobs.get("a").logs(follow=True))
        assert [(line.attempt, line.text) for line in lines] == [(1, "first"), (2, "second")]

    def test_a_job_that_is_gone_meanwhile_is_said_to_be(self, peer: Peer, client: Client) -> None:
        peer.answers_json(job_body())
        peer.streams(chunk(0, "a\n"), is_whole=False)
        peer.answers_json({"error": "NotFound", "message": "no job train-1"}, status="404 Not Found")
        with pytest.raises(NotFound, match="no job train-1"):
            list(client.jobs.get("a").logs(follow=True))


class TestPatience:
    def test_is_as_long_as_is_asked_for(self, peer: Peer) -> None:
        peer.says_nothing()
        http = Http(peer.url, None)
        with pytest.raises(ServerUnreachable, match="broke off"):
            http.send("GET", "/me", is_repeatable=False, read_seconds=0.2)
        http.close()

    def test_a_large_object_has_more_time_to_become_whole(self, peer: Peer, tmp_path: Path) -> None:
        size = 40 << 20
        with (tmp_path / "x").open("wb") as file:
            file.truncate(size)
        peer.answers_json({"id": "u1", "offset": size, "size": size}, status="201 Created")
        peer.answers_json({"key": "x", "size": size, "modified_at": "2026-01-01T00:00:00Z"})
        http = Http(peer.url, None)
        carrier = RecordingCarrier(http.carrier)
        fates: list[OneProblem | None] = []
        send_objects(
            Api(carrier, Retry(0.0)),
            [Outgoing(str(tmp_path / "x"), "main", "x", size)],
            done=lambda _, problem: fates.append(problem),
        )
        assert fates == [None]
        patience = [(request.path, request.read_seconds) for request in carrier.requests]
        assert patience == [("/buckets/main/uploads", 60.0), ("/uploads/u1/commit", 60.0 + size / 20e6)]
        http.close()


class TestDownload:
    DATA = bytes(range(256)) * 40
    ETAG = 'ETag: "one"'

    def head(self, peer: Peer, data: bytes = DATA, sha256: str = "") -> None:
        digest = sha256 or hashlib.sha256(data).hexdigest()
        peer.answers(b"", self.ETAG, f"X-Danlu-SHA256: {digest}", length=len(data))

    def answers_from(self, peer: Peer, begin: int, end: int, *, etag: str = ETAG) -> None:
        """All bytes from `begin` on are announced, and those before `end` come."""
        told = f"Content-Range: bytes {begin}-{len(self.DATA) - 1}/{len(self.DATA)}"
        length = len(self.DATA) - begin
        peer.answers(self.DATA[begin:end], etag, told, status="206 Partial Content", length=length)

    def test_goes_on_where_it_broke(self, peer: Peer, client: Client, tmp_path: Path) -> None:
        self.head(peer)
        peer.answers(self.DATA[:3000], self.ETAG, length=len(self.DATA))
        self.answers_from(peer, 3000, 5000)
        self.answers_from(peer, 5000, len(self.DATA))
        seen: list[int] = []
        target = tmp_path / "x.bin"
        client.store.download("main/x.bin", target, progress=lambda progress: seen.append(progress.done_bytes))
        assert target.read_bytes() == self.DATA
        assert [asked.headers.get("range") for asked in peer.asked[2:]] == ["bytes=3000-", "bytes=5000-"]
        assert seen[-1] == len(self.DATA)
        assert list(tmp_path.iterdir()) == [target]

    def test_a_server_that_sends_all_of_it_again_is_taken_at_its_word(
        self, peer: Peer, client: Client, tmp_path: Path
    ) -> None:
        self.head(peer)
        peer.answers(self.DATA[:3000], self.ETAG, length=len(self.DATA))
        peer.answers(self.DATA, self.ETAG)
        seen: list[int] = []
        client.store.download("main/x.bin", tmp_path / "x.bin", progress=lambda told: seen.append(told.done_bytes))
        assert (tmp_path / "x.bin").read_bytes() == self.DATA
        assert seen[-1] == len(self.DATA)

    def test_other_bytes_are_not_kept(self, peer: Peer, client: Client, tmp_path: Path) -> None:
        self.head(peer, sha256="0" * 64)
        peer.answers(self.DATA, self.ETAG)
        with pytest.raises(BadChecksum):
            client.store.download("main/x.bin", tmp_path / "x.bin")
        assert list(tmp_path.iterdir()) == []

    def test_an_object_that_is_replaced_meanwhile_is_not_mixed(
        self, peer: Peer, client: Client, tmp_path: Path
    ) -> None:
        self.head(peer)
        peer.answers(self.DATA[:3000], self.ETAG, length=len(self.DATA))
        self.answers_from(peer, 3000, len(self.DATA), etag='ETag: "two"')
        with pytest.raises(Conflict, match=r"x\.bin was replaced while it was fetched"):
            client.store.download("main/x.bin", tmp_path / "x.bin")
        assert list(tmp_path.iterdir()) == []

    def test_a_server_does_not_choose_files_outside_of_the_folder(
        self, peer: Peer, client: Client, tmp_path: Path
    ) -> None:
        entry = {"key": "a/../../evil", "size": 1, "modified_at": "2026-01-01T00:00:00Z"}
        peer.answers_json({"objects": [entry], "folders": []})
        with pytest.raises(Exception, match=r"'..' is not allowed in a path"):
            client.store.download("main/a/", tmp_path / "here")
        assert list(tmp_path.iterdir()) == []
