"""Pages that the server makes itself: in the language of the browser, and of nothing but our own markup."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from html.parser import HTMLParser

import httpx
import pytest
from tests.support.world import World

from danlu.server.people import service as people_service

CHINESE, ENGLISH = {"Accept-Language": "zh-CN,zh;q=0.9,en;q=0.8"}, {"Accept-Language": "en-US,en;q=0.9,zh;q=0.8"}
EVIL = "\"><script>alert(1)</script><b title='"


class Seen(HTMLParser):
    """What a browser makes of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words += data

    def first(self, tag: str) -> dict[str, str | None]:
        return next(attributes for name, attributes in self.tags if name == tag)


@pytest.fixture
def url(world: World) -> Iterator[str]:
    with world.serving() as url:
        yield url


def link_of(world: World, url: str) -> str:
    return f"{url}/signin?token={world.database.write(people_service.make_link, 'admin', world.clock())}"


@pytest.mark.parametrize(
    ("path", "english", "chinese"),
    [
        ("/", "The server is running", "服务器正在运行"),
        ("/jobs", "The command line works without: danlu ps, danlu run.", "命令行仍可使用：danlu ps、danlu run。"),
        ("/signin", "New here? danlu register NAME", "还没有账号？danlu register NAME"),
        ("/signin?token=x", "The link works once.", "链接只能使用一次。"),
        ("/signin/cli", "The browser session has expired; sign in again.", "登录会话已结束；请重新登录。"),
        ("/signin/oidc", "OpenID Connect is not configured on this server.", "此服务器未配置 OpenID Connect。"),
    ],
)
def test_a_page_is_in_the_language_of_the_browser(url: str, path: str, english: str, chinese: str) -> None:
    for headers, tag, text, other in ((ENGLISH, "en", english, chinese), (CHINESE, "zh-CN", chinese, english)):
        answer = httpx.get(f"{url}{path}", headers=headers)
        seen = Seen(answer.text)
        assert text in seen.words
        assert other not in seen.words
        assert (seen.first("html")["lang"], answer.headers["Content-Language"]) == (tag, tag)
        assert answer.headers["Vary"] == "Accept-Language"


def test_without_a_language_it_is_english(url: str) -> None:
    for header in ({}, {"Accept-Language": "zh" * 20_000}, {"Accept-Language": "\x01,;q=,<zh>"}):
        answer = httpx.get(f"{url}/signin", headers=header)
        assert (answer.status_code, Seen(answer.text).first("html")["lang"]) == (200, "en")


def test_a_link_that_is_used_up_and_a_short_password_are_told_in_both(world: World, url: str) -> None:
    first = link_of(world, url).partition("token=")[2]
    short = {"token": first, "new_password": "short"}
    assert "密码至少 8 个字符。" in httpx.post(f"{url}/signin", data=short, headers=CHINESE).text
    assert "A password has at least 8 characters." in httpx.post(f"{url}/signin", data=short, headers=ENGLISH).text
    assert httpx.post(f"{url}/signin", data={"token": first}, headers=CHINESE).status_code == 303
    again = [httpx.post(f"{url}/signin", data={"token": first}, headers=headers) for headers in (CHINESE, ENGLISH)]
    assert [one.status_code for one in again] == [401, 401]
    assert "登录链接已使用或已过期" in again[0].text
    assert "The sign-in link was used or has expired" in again[1].text


def test_a_form_of_another_site_is_refused_in_both(url: str) -> None:
    sent = {"Origin": "https://evil.example", **CHINESE}
    refused = httpx.post(f"{url}/signin", data={"token": "x"}, headers=sent)
    assert (refused.status_code, "请求来自其他网站的页面" in refused.text) == (403, True)
    assert "by a page of another site" in httpx.post(f"{url}/signin", headers={**sent, **ENGLISH}).text


def test_a_link_for_the_command_line_is_made_in_both(world: World, url: str) -> None:
    with httpx.Client(base_url=url) as browser:
        browser.post("/signin", data={"token": link_of(world, url).partition("token=")[2]})
        form = Seen(browser.get("/signin/cli", headers=CHINESE).text)
        assert "您已登录为 admin。" in form.words
        assert "You are signed in as admin." in Seen(browser.get("/signin/cli", headers=ENGLISH).text).words
        made = browser.post("/signin/cli", data={"csrf": form.first("input")["value"]}, headers=CHINESE)
        assert "一天内有效，只能使用一次：danlu login 'http" in Seen(made.text).words
        wrong = browser.post("/signin/cli", data={"csrf": "x"}, headers=CHINESE)
        assert (wrong.status_code, "此表单不属于当前会话；请重新打开页面。" in wrong.text) == (403, True)


def test_what_others_chose_is_shown_as_text(world: World, url: str) -> None:
    changed = {"oidc_issuer": "https://id.example.com", "oidc_name": EVIL, "public_url": f"http://x/{EVIL}{{0}}"}
    object.__setattr__(world.state, "settings", world.settings.model_copy(update=changed))
    for headers in (ENGLISH, CHINESE):
        ways = Seen(httpx.get(f"{url}/signin", headers=headers).text)
        form = Seen(httpx.get(f"{url}/signin", params={"token": EVIL}, headers=headers).text)
        assert form.first("input")["value"] == EVIL
        for seen in (ways, form):
            assert {"script", "b"} & {tag for tag, _ in seen.tags} == set()
        assert ways.words.count(EVIL) == 3  # the name of the provider, and the address in two commands


def test_a_page_may_use_its_own_style_and_nothing_else(url: str) -> None:
    answer = httpx.get(f"{url}/signin")
    style = re.search("<style>(.*)</style>", answer.text, re.DOTALL)
    assert style is not None
    digest = b64encode(sha256(style[1].encode()).digest()).decode()
    assert answer.headers["Content-Security-Policy"] == (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )
    assert " style=" not in answer.text
