"""A port of a running job in a browser: through the proxy, for real."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from tests.support.endpoints import Browser, browser_of, digest_of, pieces, start_app

from danlu.client import Client
from danlu.client.jobs.job import Job
from danlu.testing.serving import RunningServer
from danlu.testing.waiting import wait_until

LARGE_BYTES = 200 << 20
MAX_GROWTH_BYTES = 100 << 20


@pytest.fixture(scope="module")
def job(server: RunningServer) -> Iterator[Job]:
    with server.client() as client:
        made = start_app(client)
        yield made
        made.stop()


@pytest.fixture
def browser(job: Job) -> Iterator[Browser]:
    with browser_of(job) as made:
        yield made


def test_a_link_lets_one_browser_in(client: Client, job: Job, browser: Browser) -> None:
    with Browser(job.endpoints.link(8080).url) as other:
        assert other.get("/headers").status_code == 401
        assert "danlu open" in other.get("/headers", Accept="text/html").text
        entered = other.http.get(f"{other.enter_path}&to=/a/b")
        assert (entered.status_code, entered.headers["location"]) == (303, "/a/b")
    assert browser.get("/x").json() == {"path": "/x"}
    assert any(job.id in event.object for event in client.audit(action="endpoint.use"))


def test_a_refusal_is_a_page_in_the_language_of_the_browser_and_json_for_programs(job: Job) -> None:
    chinese, english = "您没有访问权限，或权限已失效", "You don&#x27;t have access to this endpoint"
    with Browser(job.endpoints.link(8080).url) as stranger:
        for accepted, tag, text in (("zh-CN,en;q=0.5", "zh-CN", chinese), ("en-US,zh;q=0.5", "en", english)):
            page = stranger.get("/x", Accept="text/html", **{"Accept-Language": accepted})
            assert (page.status_code, page.headers["content-language"]) == (401, tag)
            assert f'<html lang="{tag}">' in page.text
            assert text in page.text
            assert "<code>danlu open</code>" in page.text
        evil = stranger.get("/_danlu/enter?grant=x&to=//<script>", Accept="text/html", **{"Accept-Language": "zh"})
        assert (evil.status_code, "应为此访问入口的路径" in evil.text, "<script" in evil.text) == (422, True, False)
        assert stranger.get("/x", **{"Accept-Language": "zh"}).json()["message"].startswith("you don't have access")


def test_the_path_arrives_as_it_was_sent(browser: Browser) -> None:
    for path in ("/a%2Fb/%2e%2e/c?x=%20&y=/%2F", "/double//slash", "/%E4%B8%B9"):
        assert browser.get(path).json() == {"path": path}


def test_the_program_sees_neither_cookies_of_danlu_nor_what_others_say_about_the_sender(browser: Browser) -> None:
    headers = {
        "Cookie": f"first=1; {browser.cookie}; danlu_session=secret; second=2",
        "Authorization": "Bearer dk-1.secret",
        "X-Forwarded-For": "1.2.3.4",
        "Forwarded": "for=1.2.3.4",
    }
    seen = {name.lower(): value for name, value in browser.get("/headers", **headers).json()["headers"]}
    assert seen["cookie"] == "first=1; second=2"
    assert "authorization" not in seen
    assert (seen["x-forwarded-for"], seen["x-forwarded-proto"]) == ("127.0.0.1", "http")
    assert "forwarded" not in seen
    assert browser.get("/headers", Authorization="Bearer own").json()["headers"].count(["Authorization", "Bearer own"])


def test_several_cookies_arrive_and_those_of_danlu_do_not(browser: Browser) -> None:
    assert browser.get("/cookies").headers.get_list("set-cookie") == ["one=1", "two=2; Path=/"]


def test_an_answer_arrives_as_it_is_made(browser: Browser, job: Job) -> None:
    with browser.http.stream("GET", "/slow/3") as answer, browser_of(job) as other:
        lines = answer.iter_lines()
        for number in range(3):
            other.get("/next")
            assert next(lines) == str(number)


def test_websockets_carry_text_and_bytes(browser: Browser) -> None:
    with browser.websocket() as opened:
        for message in ("丹炉", b"\0" * 3_000_000, ""):
            opened.send(message)
            assert opened.recv() == message


def test_large_bodies_pass_with_bounded_memory(job: Job, browser: Browser, server: RunningServer) -> None:
    """Up with a length and in chunks, and down."""
    before = _resident_bytes(server.pid)
    length = {"Content-Length": str(LARGE_BYTES)}
    for headers in (length, {}):
        answer = browser.http.put("/sha256", content=pieces(LARGE_BYTES), headers=headers)
        assert answer.json() == {"sha256": digest_of(LARGE_BYTES), "num_bytes": LARGE_BYTES}
    digest = hashlib.sha256()
    with browser.http.stream("GET", f"/bytes/{LARGE_BYTES}") as down:
        for piece in down.iter_bytes():
            digest.update(piece)
    assert digest.hexdigest() == digest_of(LARGE_BYTES)
    assert _resident_bytes(server.pid) - before < MAX_GROWTH_BYTES


def _resident_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_a_port_is_opened_and_closed_while_the_job_runs(job: Job) -> None:
    opened = job.endpoints.open(9090, is_shared=True)
    assert (opened.name, opened.is_shared) == ("9090", True)
    assert [one.name for one in job.endpoints.list()] == ["8080", "9090"]
    with browser_of(job, 9090) as browser:
        told = browser.get("/")
        assert (told.status_code, told.json()["error"]) == (502, "PortClosed")  # nothing listens there
        job.endpoints.close(9090)
        job.endpoints.close(9090)
        wait_until(lambda: browser.get("/").status_code == 404)
    assert [one.name for one in job.endpoints.list()] == ["8080"]


def test_who_is_cut_off_loses_what_is_open(server: RunningServer, client: Client) -> None:
    job = start_app(client)
    with browser_of(job) as browser, browser.websocket() as opened:
        opened.send("hello")
        assert opened.recv() == "hello"
        job.endpoints.close(8080)
        with pytest.raises(EOFError):
            wait_until(lambda: _is_cut(opened))
    job.stop()


def _is_cut(opened: object) -> bool:
    from websockets.exceptions import ConnectionClosed
    from websockets.sync.client import ClientConnection

    assert isinstance(opened, ClientConnection)
    try:
        opened.send("still there?")
        opened.recv()
    except ConnectionClosed as error:
        raise EOFError from error
    return False


def test_a_restarted_server_knows_who_was_let_in(make_server: Callable[..., RunningServer]) -> None:
    server = make_server()
    with server.client() as client:
        job = start_app(client)
        with browser_of(job) as browser:
            server.kill()
            server.start()
            again = job.endpoints.link(8080).url
            browser.http.base_url = httpx.URL(f"http://127.0.0.1:{httpx.URL(again).port}")
            browser.http.headers["Host"] = httpx.URL(again).netloc.decode()
            assert browser.get("/x").json() == {"path": "/x"}
