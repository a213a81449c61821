"""Endpoints at an address without names: for the owner of a job only, and of no use elsewhere."""

from __future__ import annotations

import httpx
import pytest
from tests.security.endpoints.conftest import Site
from tests.support.endpoints import COOKIE, Browser
from websockets.exceptions import InvalidStatus

from danlu.errors import NotAllowed, NotFound
from danlu.gateway.proxy.names import BareAddress, needs_bare

HOST = "10.0.0.5:8400"


def status(browser: Browser, path: str = "/x", **headers: str) -> int:
    return browser.get(path, **headers).status_code


@pytest.mark.parametrize(
    ("host", "is_bare"),
    [
        ("10.0.0.5:8400", True),
        ("10.0.0.5", True),
        ("[2001:db8::5]:8400", True),
        ("127.0.0.1:8400", False),
        ("[::1]:8400", False),
        ("localhost:8400", False),
        ("danlu.example.com", False),
        ("10.0.0.5.evil.example:8400", False),
        ("", False),
    ],
)
def test_names_are_used_where_there_are_names(host: str, is_bare: bool) -> None:
    assert needs_bare(host) is is_bare


def test_an_owner_gets_in_and_their_other_endpoint_takes_its_place(site: Site) -> None:
    link = site.link("ada", "ada", host=HOST)
    port = site.doors.settings.endpoints_bare_port
    assert link.startswith(f"http://10.0.0.5:{port}/_danlu/enter?grant=")
    with Browser(link).enter() as browser:
        assert browser.get("/a%2Fb").json() == {"path": "/a%2Fb"}
        with browser.websocket() as opened:
            opened.send("hello")
            assert opened.recv() == "hello"
        with Browser(site.link("ada", "ada", 9090, host=HOST)).enter() as other:
            assert status(browser, Cookie=other.cookie) == 502, "port 9090, where nothing listens"


def test_loopback_keeps_its_names(site: Site) -> None:
    assert ".localhost:" in site.link("ada", "ada", host="127.0.0.1:8400")


class TestRefused:
    @pytest.mark.parametrize(("who", "error"), [("olga", NotAllowed), ("ben", NotAllowed), ("finn", NotFound)])
    def test_whoever_is_not_the_owner(self, own_site: Site, who: str, error: type[Exception]) -> None:
        """Also those who may use it by its name: an owner of the project, a member where it is shared."""
        own_site.share("ada")
        with pytest.raises(error):
            own_site.link(who, "ada", host=HOST)

    def test_grants_of_the_other_kind(self, site: Site) -> None:
        with site.browser() as named, Browser(site.link("ada", "ada", host=HOST)).enter() as bare:
            assert status(bare, Cookie=named.cookie) == 401
            assert status(named, Cookie=bare.cookie) == 401
            link = httpx.URL(site.link("ada", "ada")).params["grant"]
            assert bare.get(f"/_danlu/enter?grant={link}").status_code == 401
            assert status(bare, Cookie=f"{COOKIE}=") == 401

    @pytest.mark.parametrize(
        "host", ["evil.example:{port}", "localhost:{port}", "10.0.0.5", "10.0.0.5:1", "::1:{port}"]
    )
    def test_names_that_lead_here(self, site: Site, host: str) -> None:
        """Whose name it is can change: a page of theirs would be a page of ours."""
        with Browser(site.link("ada", "ada", host=HOST)).enter() as browser:
            assert status(browser) == 200
            assert status(browser, Host=host.format(port=site.doors.settings.endpoints_bare_port)) == 404

    @pytest.mark.parametrize("origin", ["http://10.0.0.5:8400", "http://10.0.0.5", "http://evil.example", "null"])
    def test_pages_of_the_console_and_of_others(self, site: Site, origin: str) -> None:
        with Browser(site.link("ada", "ada", host=HOST)).enter() as browser:
            assert status(browser, Origin=origin) == 403
            with pytest.raises(InvalidStatus) as refused, browser.websocket(origin=origin):
                pass
            assert refused.value.response.status_code == 403

    def test_the_console_does_not_take_what_lets_somebody_in_here(self, site: Site) -> None:
        with site.world.serving() as url, Browser(site.link("ada", "ada", host=HOST)).enter() as browser:
            answer = httpx.get(f"{url}/api/v1/jobs", headers={"Cookie": browser.cookie}, trust_env=False)
            assert answer.status_code == 401

    def test_the_program_sees_no_cookie_of_ours(self, site: Site) -> None:
        """Cookies know no port: browsers send those of the console along."""
        with Browser(site.link("ada", "ada", host=HOST)).enter() as browser:
            cookies = f"{browser.cookie}; danlu_session=secret; own=1"
            seen = dict(browser.get("/headers", Cookie=cookies).json()["headers"])
            assert seen["Cookie"] == "own=1"


def test_an_address_is_its_own_origin() -> None:
    found = BareAddress(8403).find("[2001:db8::5]:8403")
    assert found is not None
    assert found.origin == "http://[2001:db8::5]:8403"
