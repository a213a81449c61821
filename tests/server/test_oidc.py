"""Signing in by OpenID Connect, with a provider that is a process of its own and does not always tell the truth."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from tests.fakes.oidc_provider import CLIENT, SECRET, running_provider
from tests.support.world import Api, World, make_world

from danlu.errors import InvalidInput, Unavailable
from danlu.server.oidc.provider import Person, Provider
from danlu.server.oidc.service import make_provider, name_for
from danlu.server.settings import ServerSettings

AWAY = httpx.Client()
"""The browser at the provider's."""


@pytest.fixture(scope="module")
def provider() -> Iterator[str]:
    with running_provider() as issuer:
        yield issuer


@pytest.fixture(scope="module")
def site(provider: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[World, str]]:
    """A world that knows the provider, and its address."""
    folder = tmp_path_factory.mktemp("oidc")
    (folder / "secret").write_text(f"{SECRET}\n")
    with make_world(folder / "data") as world:
        values = {
            "oidc_issuer": provider,
            "oidc_client_id": CLIENT,
            "oidc_client_secret_file": folder / "secret",
            "oidc_people": "active",
            "oidc_name": "Example <Org>",
            "join_project": "default",
        }
        world.state = replace(world.state, settings=world.settings.model_copy(update=values))
        with world.serving() as url:
            change(world, public_url=url)
            yield world, url


@pytest.fixture
def world(site: tuple[World, str], provider: str) -> World:
    change(site[0], oidc_people="active")
    tell(provider, sub="1234")
    return site[0]


@pytest.fixture
def browser(site: tuple[World, str]) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=site[1], timeout=None) as made:
        yield made


def change(world: World, **values: Any) -> None:
    object.__setattr__(world.state, "settings", world.state.settings.model_copy(update=values))


def tell(provider: str, lie: str = "", **claims: Any) -> None:
    AWAY.put(f"{provider}/tell", json={"claims": claims, "lie": lie})


def go(browser: httpx.Client) -> httpx.Response:
    """Sign in as a browser does: to the provider and back."""
    away = browser.get("/signin/oidc")
    assert away.status_code == 303, away.text
    back = AWAY.get(away.headers["Location"])
    assert back.status_code == 302
    return browser.get(back.headers["Location"])


def told(response: httpx.Response) -> str:
    return re.sub(r"<style>.*</style>|<[^>]+>|\s+", " ", response.text, flags=re.DOTALL)


def test_a_person_comes_is_let_in_and_comes_again(world: World, provider: str, browser: httpx.Client) -> None:
    tell(provider, sub="ada-1", preferred_username="Ada.L", name="Ada Lovelace", email="ada@example.org")
    assert "You are signed in as ada.l" in told(go(browser)).replace("  ", " ")
    me = browser.get("/api/v1/me").json()
    assert (me["name"], me["full_name"], me["email"], me["projects"]) == (
        "ada.l",
        "Ada Lovelace",
        "ada@example.org",
        ["default"],
    )
    with httpx.Client(base_url=str(browser.base_url)) as elsewhere:
        tell(provider, sub="ada-1", preferred_username="somebody-else")  # the subject counts, not the name
        go(elsewhere)
        assert elsewhere.get("/api/v1/me").json()["name"] == "ada.l"


def test_the_same_name_or_mail_address_is_not_the_same_person(
    world: World, provider: str, browser: httpx.Client
) -> None:
    tell(provider, sub="evil", preferred_username="admin", email="admin@example.org")
    go(browser)
    me = browser.get("/api/v1/me").json()
    assert (me["name"], me["is_admin"]) == ("admin-2", False)


def test_who_has_to_wait_is_told_and_asked_for_once(world: World, provider: str, browser: httpx.Client) -> None:
    change(world, oidc_people="approval")
    tell(provider, sub="grace-1", preferred_username="grace")
    for _ in range(2):
        answer = go(browser)
        assert (answer.status_code, "sign in again once it is approved" in told(answer)) == (202, True)
    assert browser.get("/api/v1/me").status_code == 401
    with Api(str(browser.base_url), world.api_key()) as admin:
        (waiting,) = [one for one in admin.json("GET", "/registrations")["items"] if one["name"] == "grace"]
        assert waiting["issuer"] == provider
        admin.json("POST", f"/registrations/{waiting['id']}/approve", json={"project": "default"})
    go(browser)
    assert browser.get("/api/v1/me").json()["name"] == "grace"


def test_an_admin_says_that_it_is_somebody_who_is_here(world: World, provider: str, browser: httpx.Client) -> None:
    world.add_user("linus", "default")
    change(world, oidc_people="approval")
    tell(provider, sub="linus-1", preferred_username="linus")
    go(browser)
    with Api(str(browser.base_url), world.api_key()) as admin:
        waiting = admin.json("GET", "/registrations")["items"][0]
        assert waiting["is_name_taken"] is True
        admin.json("POST", f"/registrations/{waiting['id']}/approve", json={"link": "linus"})
    go(browser)
    assert browser.get("/api/v1/me").json()["name"] == "linus"


def test_a_disabled_person_stays_out(world: World, provider: str, browser: httpx.Client) -> None:
    tell(provider, sub="mallory-1", preferred_username="mallory")
    go(browser)
    with Api(str(browser.base_url), world.api_key()) as admin:
        admin.json("POST", "/users/mallory/disable", json={})
    assert browser.get("/api/v1/me").status_code == 401
    answer = go(browser)
    assert (answer.status_code, "The account is not active; ask an admin" in told(answer)) == (401, True)


@pytest.mark.parametrize(
    ("lie", "claims", "problem"),
    [
        ("issuer", {"sub": "1"}, "its issuer is not the right one"),
        ("audience", {"sub": "1"}, "its audience is not the right one"),
        ("several audiences", {"sub": "1"}, "its audience is not the right one"),
        ("nonce", {"sub": "1"}, "its nonce is not the right one"),
        ("", {"sub": ""}, "its subject is not the right one"),
        ("", {"sub": 7}, "cannot be trusted: InvalidClaimError"),
        ("", {"sub": "x" * 256}, "its subject is not the right one"),
        ("expired", {"sub": "1"}, "cannot be trusted: ExpiredTokenError"),
        ("another key", {"sub": "1"}, "cannot be trusted: BadSignatureError"),
        ("no signature", {"sub": "1"}, "cannot be trusted: "),
        ("denies", {"sub": "1"}, "The provider did not sign you in (access_denied)"),
    ],
)
def test_what_is_not_right_signs_nobody_in(
    world: World, provider: str, browser: httpx.Client, lie: str, claims: dict[str, Any], problem: str
) -> None:
    tell(provider, lie, **claims)
    answer = go(browser)
    assert answer.status_code == 401
    assert problem in told(answer)
    assert browser.get("/api/v1/me").status_code == 401


def test_a_new_key_of_the_provider_is_found(world: World, provider: str, browser: httpx.Client) -> None:
    go(browser)
    tell(provider, "new key", sub="1234")
    assert "You are signed in" in told(go(browser))


class TestState:
    def away(self, browser: httpx.Client) -> tuple[str, dict[str, list[str]]]:
        location = browser.get("/signin/oidc").headers["Location"]
        return location, parse_qs(urlsplit(location).query)

    def test_a_sign_in_that_another_browser_began_is_refused(self, world: World, browser: httpx.Client) -> None:
        """Otherwise a link could sign somebody in as the one who made it."""
        location, _ = self.away(browser)
        back = AWAY.get(location).headers["Location"]
        with httpx.Client() as victim:
            answer = victim.get(back)
            assert (answer.status_code, "was not begun in this browser" in told(answer)) == (401, True)
            assert "danlu_session" not in victim.cookies

    def test_a_wrong_state_a_late_one_and_a_forged_cookie(self, world: World, browser: httpx.Client) -> None:
        location, _ = self.away(browser)
        back = AWAY.get(location).headers["Location"]
        assert browser.get(re.sub(r"state=[^&]+", "state=x", back)).status_code == 401
        world.clock.pass_seconds(601)
        assert browser.get(back).status_code == 401
        browser.cookies.set("danlu_oidc", "forged", path="/signin/oidc")
        assert browser.get(back).status_code == 401

    def test_a_code_works_once(self, world: World, browser: httpx.Client) -> None:
        location, _ = self.away(browser)
        kept = dict(browser.cookies)
        back = AWAY.get(location).headers["Location"]
        assert browser.get(back).status_code == 200
        with httpx.Client(cookies={"danlu_oidc": kept["danlu_oidc"]}) as again:
            answer = again.get(back)
            assert (answer.status_code, "rejected this sign-in" in told(answer)) == (401, True)

    def test_every_sign_in_has_words_of_its_own_and_the_cookie_hides_them(
        self, world: World, browser: httpx.Client
    ) -> None:
        _, first = self.away(browser)
        cookie = browser.cookies["danlu_oidc"]
        _, second = self.away(browser)
        for name in ("state", "nonce", "code_challenge"):
            assert first[name] != second[name]
            assert first[name][0] not in cookie
        assert first["redirect_uri"] == [f"{world.state.settings.reached_at}/signin/oidc/callback"]


class TestCommandLine:
    """Who has no password gets a link for the command line in the browser."""

    def test_a_link_from_the_browser(self, world: World, provider: str, browser: httpx.Client) -> None:
        tell(provider, sub="1234", preferred_username="kay")
        go(browser)
        form = browser.get("/signin/cli")
        csrf = re.search(r'name="csrf" value="([^"]+)"', form.text)
        assert csrf is not None
        assert browser.post("/signin/cli", data={"csrf": "wrong"}).status_code == 403
        made = browser.post("/signin/cli", data={"csrf": csrf.group(1)})
        link = re.search(r"token=([\w-]+)", made.text)
        assert link is not None
        with Api(str(browser.base_url)) as fresh:
            name = browser.get("/api/v1/me").json()["name"]
            assert fresh.json("POST", "/session", json={"token": link.group(1)})["user"] == name

    def test_nobody_gets_none(self, world: World, browser: httpx.Client) -> None:
        assert browser.get("/signin/cli").status_code == 401
        assert browser.post("/signin/cli", data={"csrf": "x"}).status_code == 401

    def test_the_sign_in_page_names_the_ways_in(self, world: World, browser: httpx.Client) -> None:
        text = browser.get("/signin").text
        assert "Sign in with Example &lt;Org&gt;" in text
        assert "danlu login --name NAME" in text


class TestSettings:
    def test_a_provider_needs_https_unless_it_is_here(self) -> None:
        with pytest.raises(InvalidInput, match=r"'http://example\.org' is not an address that begins with https://"):
            Provider("http://example.org", "x", None, now=lambda: 0.0)

    def test_a_secret_file_that_is_not_there_is_named(self, tmp_path: Path) -> None:
        settings = ServerSettings(oidc_issuer="https://x.example.org", oidc_client_secret_file=tmp_path / "none")
        with pytest.raises(Unavailable, match=r"oidc_client_secret_file: .*none: No such file or directory"):
            make_provider(settings)

    def test_a_provider_that_does_not_answer_or_is_another(self, provider: str) -> None:
        def url(issuer: str) -> str:
            made = Provider(issuer, CLIENT, SECRET, now=lambda: 0.0)
            return made.sign_in_url(redirect_uri="x", state="s", nonce="n", verifier="v")

        with pytest.raises(Unavailable, match=r"does not answer .ConnectError.; try again"):
            url("http://127.0.0.1:9")
        tell(provider, "describes another", sub="1")
        with pytest.raises(Unavailable, match="is not the OpenID Connect provider that its metadata describes"):
            url(provider)
        tell(provider, sub="1")

    def test_without_a_provider_there_is_no_such_page(self, tmp_path: Path) -> None:
        with make_world(tmp_path) as plain, plain.serving() as url:
            assert httpx.get(f"{url}/signin/oidc").status_code == 404
            assert "Sign in with" not in httpx.get(f"{url}/signin").text

    @pytest.mark.parametrize(
        ("given", "name"),
        [
            ("Ada.L", "ada.l"),
            ("ada lovelace", "ada-lovelace"),
            ("丹炉", "user"),
            ("", "user"),
            ("-x", "x"),
            ("root", "user"),
        ],
    )
    def test_names_are_made_like_ours(self, given: str, name: str) -> None:
        assert name_for(Person("i", "s", given, "", "")) == name


@pytest.mark.parametrize(
    ("lie", "claims", "status", "chinese"),
    [
        ("nonce", {"sub": "1"}, 401, "身份提供方返回的内容不属于此次登录（nonce 不符）。"),
        ("expired", {"sub": "1"}, 401, "身份提供方返回的内容不可信：ExpiredTokenError。"),
        ("denies", {"sub": "1"}, 401, "身份提供方未允许您登录（access_denied）。"),
        ("", {"sub": "lin-1", "preferred_username": "lin"}, 200, "您已登录为  lin 。"),
    ],
)
def test_pages_are_in_the_language_of_the_browser(
    world: World, provider: str, browser: httpx.Client, *, lie: str, claims: dict[str, Any], status: int, chinese: str
) -> None:
    browser.headers["Accept-Language"] = "zh-CN,zh;q=0.9,en;q=0.8"
    tell(provider, lie, **claims)
    answer = go(browser)
    assert (answer.status_code, answer.headers["Content-Language"]) == (status, "zh-CN")
    assert chinese in told(answer)


def test_who_has_to_wait_and_who_began_elsewhere_are_told_in_chinese(
    world: World, provider: str, browser: httpx.Client
) -> None:
    browser.headers["Accept-Language"] = "zh"
    change(world, oidc_people="approval")
    tell(provider, sub="wei-1", preferred_username="wei")
    assert "您的注册正在等待管理员批准；批准后请重新登录。" in told(go(browser))
    elsewhere = browser.get("/signin/oidc/callback", params={"code": "x", "state": "y"})
    assert (elsewhere.status_code, "此次登录不是在此浏览器中开始的" in told(elsewhere)) == (401, True)
