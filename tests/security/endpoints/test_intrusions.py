"""Ways into an endpoint that is not one's own: each is refused, with the status that says why."""

from __future__ import annotations

import json

import httpx
import pytest
from tests.security.endpoints.conftest import Site, raw
from tests.support.endpoints import COOKIE, Browser
from websockets.exceptions import InvalidStatus

from danlu.auth.endpoint_grants import COOKIE_SECONDS, LINK_SECONDS, EndpointGrant, seal_grant
from danlu.errors import DanluError, NotAllowed, NotFound
from danlu.gateway.proxy.gate import REMEMBERED_SECONDS
from danlu.store.queries import people
from danlu.testing.waiting import wait_until


def status(browser: Browser, path: str = "/x", **headers: str) -> int:
    return browser.get(path, **headers).status_code


def becomes(browser: Browser, wanted: int) -> None:
    """Who was let in is remembered for two seconds."""
    assert REMEMBERED_SECONDS <= 2
    wait_until(lambda: status(browser) == wanted, lambda: status(browser))


class TestLinks:
    @pytest.mark.parametrize(("who", "error"), [("ben", NotAllowed), ("vera", NotAllowed), ("finn", NotFound)])
    def test_others_get_none(self, site: Site, who: str, error: type[DanluError]) -> None:
        with pytest.raises(error):
            site.link(who, "ada")

    def test_a_port_that_is_not_open_has_none(self, site: Site) -> None:
        with pytest.raises(NotFound):
            site.link("ada", "ada", 22)

    def test_an_expired_one_is_refused(self, site: Site) -> None:
        with Browser(site.link("ada", "ada")) as browser:
            site.world.clock.pass_seconds(LINK_SECONDS + 1)
            assert browser.http.get(browser.enter_path).status_code == 401

    def test_one_of_another_endpoint_is_refused(self, site: Site) -> None:
        """Of another port of the same job, and of another job."""
        with Browser(site.link("ada", "ada")) as browser:
            for who, port in (("ada", 9090), ("finn", 8080)):
                other = Browser(site.link(who, who, port))
                assert browser.http.get(other.enter_path).status_code == 401

    def test_the_cookie_is_no_link_and_the_link_no_cookie(self, site: Site) -> None:
        link = site.link("ada", "ada")
        grant = httpx.URL(link).params["grant"]
        with Browser(link) as stranger, site.browser() as browser:
            assert status(stranger, Cookie=f"{COOKIE}={grant}") == 401
            value = browser.cookie.partition("=")[2]
            assert stranger.get(f"/_danlu/enter?grant={value}").status_code == 401

    @pytest.mark.parametrize("grant", ["", "x", "a" * 5000, "%00", "%E4%B8%B9", "gAAAAA=="])
    def test_a_made_up_one_is_refused(self, site: Site, grant: str) -> None:
        with Browser(site.link("ada", "ada")) as browser:
            assert status(browser, f"/_danlu/enter?grant={grant}") == 401

    @pytest.mark.parametrize("to", ["//evil.example", "/\\evil.example", "https://evil.example", "/%0d%0aX:1", "x"])
    def test_a_link_leads_nowhere_else(self, site: Site, to: str) -> None:
        with Browser(site.link("ada", "ada")) as browser:
            assert browser.get(f"{browser.enter_path}&to={to}").status_code == 422

    def test_a_job_secret_is_no_grant(self, site: Site) -> None:
        """Both are sealed with the same key."""
        sealed = site.world.sealer.seal({"is": "something else", "user_id": "1"}).decode()
        with Browser(site.link("ada", "ada")) as browser:
            assert status(browser, Cookie=f"{COOKIE}={sealed}") == 401


class TestCookies:
    def test_without_one_nothing_is_said(self, site: Site) -> None:
        """Not even whether there is such a job."""
        with Browser(site.link("ada", "ada")) as browser:
            real = browser.get("/x")
            made_up = browser.get("/x", Host=browser.host.replace("train-", "train-9"))
            assert (real.status_code, made_up.status_code) == (401, 401)
            assert real.text == made_up.text

    def test_one_of_another_endpoint_is_refused(self, site: Site) -> None:
        with site.browser() as mine, site.browser(port=9090) as port, site.browser("finn", "finn") as other:
            for browser in (port, other):
                assert status(mine, Cookie=browser.cookie) == 401
                assert status(browser, Cookie=mine.cookie) == 401
            assert status(mine) == 200

    def test_an_expired_one_is_refused(self, site: Site) -> None:
        with site.browser() as browser:
            assert status(browser) == 200
            site.world.clock.pass_seconds(COOKIE_SECONDS + 1)
            becomes(browser, 401)

    def test_one_of_another_server_is_refused(self, site: Site) -> None:
        from danlu.auth.secrets import Sealer

        grant = EndpointGrant(1, "", site.jobs["ada"], "8080", site.world.clock().timestamp() + 60)
        forged = seal_grant(Sealer(site.world.folder / "another.key"), grant, kind="cookie")
        with Browser(site.link("ada", "ada")) as browser:
            assert status(browser, Cookie=f"{COOKIE}={forged}") == 401

    def test_a_changed_one_is_refused(self, site: Site) -> None:
        with site.browser() as browser:
            middle = len(browser.cookie) // 2
            swapped = "A" if browser.cookie[middle] != "A" else "B"
            assert status(browser, Cookie=browser.cookie[:middle] + swapped + browser.cookie[middle + 1 :]) == 401

    def test_the_console_session_and_api_keys_let_nobody_in(self, site: Site) -> None:
        key = site.world.api_key()
        with Browser(site.link("ada", "ada")) as browser:
            assert status(browser, Cookie="danlu_session=whatever") == 401
            assert status(browser, Authorization=f"Bearer {key}") == 401

    def test_a_false_one_beside_the_right_one_does_no_harm(self, site: Site) -> None:
        """Another host of the domain may set it."""
        with site.browser() as browser:
            assert status(browser, Cookie=f"{COOKIE}=x; {browser.cookie}") == 200


class TestRightsThatEnd:
    def test_a_closed_endpoint(self, own_site: Site) -> None:
        with own_site.browser() as browser:
            assert status(browser) == 200
            own_site.close("ada")
            becomes(browser, 404)

    def test_a_project_that_is_not_shared_with_any_more(self, own_site: Site) -> None:
        own_site.share("ada")
        with own_site.browser("ben", "ada") as browser:
            assert status(browser) == 200
            own_site.share("ada", is_shared=False)
            becomes(browser, 403)

    def test_sharing_is_not_for_viewers_nor_for_other_projects(self, own_site: Site) -> None:
        own_site.share("ada")
        for who, error in (("vera", NotAllowed), ("finn", NotFound)):
            with pytest.raises(error):
                own_site.link(who, "ada")

    def test_the_key_that_it_was_opened_with(self, own_site: Site) -> None:
        with own_site.browser() as browser:
            assert status(browser) == 200
            key = own_site.people["ada"].origin.via.partition(" ")[2]
            with own_site.world.database.writing() as session:
                people.delete_key(session, key)
            becomes(browser, 401)

    def test_a_disabled_user(self, own_site: Site) -> None:
        with own_site.browser() as browser:
            assert status(browser) == 200
            with own_site.world.database.writing() as session:
                user = people.get_user(session, own_site.people["ada"].user_id)
                assert user is not None
                user.is_active = False
            becomes(browser, 401)

    def test_an_ended_job(self, own_site: Site) -> None:
        with own_site.browser() as browser:
            assert status(browser) == 200
            own_site.world.engine.end(own_site.jobs["ada"], code=0)
            own_site.world.tick(2)
            becomes(browser, 409)


class TestPagesOfOthers:
    @pytest.mark.parametrize(
        "headers",
        [
            {"Origin": "http://evil.example"},
            {"Origin": "null"},
            {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"},
            {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"},
            {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"},
        ],
    )
    def test_their_scripts_are_refused(self, site: Site, headers: dict[str, str]) -> None:
        with site.browser() as browser:
            assert status(browser, **headers) == 403

    def test_a_form_is_refused_and_a_link_is_not(self, site: Site) -> None:
        link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
        with site.browser() as browser:
            assert status(browser, **link) == 200
            assert browser.http.put("/sha256", content=b"x", headers=link).status_code == 403

    def test_one_notebook_does_not_call_another(self, site: Site) -> None:
        """Ada has both open: her browser would send the cookie along."""
        with site.browser() as one, site.browser(port=9090) as other:
            assert status(one, Origin=other.origin) == 403

    @pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost:8400"])
    def test_their_websockets_are_refused(self, site: Site, origin: str) -> None:
        with site.browser() as browser:
            with pytest.raises(InvalidStatus) as refused, browser.websocket(origin=origin):
                pass
            assert refused.value.response.status_code == 403

    def test_a_websocket_without_a_cookie_is_refused(self, site: Site) -> None:
        with Browser(site.link("ada", "ada")) as browser:
            with pytest.raises(InvalidStatus) as refused, browser.websocket():
                pass
            assert refused.value.response.status_code == 401

    def test_a_notebook_does_not_call_the_console(self, site: Site) -> None:
        """The console's cookie is not sent to it; what it sends there has no CSRF word and is not read by a page."""
        with site.world.serving() as url, site.browser() as browser:
            answer = httpx.get(
                f"{url}/api/v1/jobs", headers={"Origin": browser.origin, "Cookie": browser.cookie}, trust_env=False
            )
            assert answer.status_code == 401
            assert "access-control-allow-origin" not in answer.headers


class TestRequests:
    @pytest.mark.parametrize(
        "host",
        [
            "localhost",
            "evil.example",
            "127.0.0.1",
            "{job}-8080.evil.example",
            "{job}.localhost:{port}",
            "x.{job}-8080.localhost:{port}",
            "{job}-8080.localhost:{port}.evil.example",
            "{job}-999999.localhost:{port}",
            "../{job}-8080.localhost:{port}",
        ],
    )
    def test_other_host_names_are_not_answered(self, site: Site, host: str) -> None:
        with site.browser() as browser:
            port = browser.host.rpartition(":")[2]
            assert status(browser, Host=host.format(job=site.jobs["ada"], port=port)) == 404

    def test_path_tricks_stay_in_the_program(self, site: Site) -> None:
        with site.browser() as browser:
            for path in ("/..%2f..%2fetc/passwd", "/_danlu/../x", "/%2e%2e/_danlu/enter", "/x/_danlu%2fenter"):
                head = f"GET {path} HTTP/1.1\r\nHost: {browser.host}\r\nCookie: {browser.cookie}\r\n"
                head += "Connection: close\r\n\r\n"
                assert raw(site, head.encode()).partition(b"\r\n\r\n")[2] == json.dumps({"path": path}).encode()

    def test_a_target_that_names_another_host_is_refused(self, site: Site) -> None:
        with site.browser() as browser:
            head = f"GET http://evil.example/ HTTP/1.1\r\nHost: {browser.host}\r\nCookie: {browser.cookie}\r\n\r\n"
            assert raw(site, head.encode()).startswith(b"HTTP/1.1 422 ")

    @pytest.mark.parametrize(
        "lines",
        [
            "Content-Length: 3\r\nContent-Length: 30\r\n",
            "Content-Length: x\r\n",
            "Transfer-Encoding: gzip\r\n",
            "Bad Name: x\r\n",
            "Host: another\r\n",
        ],
    )
    def test_two_readings_of_a_request_are_refused(self, site: Site, lines: str) -> None:
        with site.browser() as browser:
            head = f"PUT /sha256 HTTP/1.1\r\nHost: {browser.host}\r\nCookie: {browser.cookie}\r\n{lines}\r\nabc"
            assert raw(site, head.encode()).split()[1] in (b"400", b"422", b"501")

    def test_what_follows_a_request_is_looked_at_as_well(self, site: Site) -> None:
        """A second request on the same connection, for another endpoint, without its cookie."""
        with site.browser() as browser, site.browser("finn", "finn") as other:
            first = f"GET /first HTTP/1.1\r\nHost: {browser.host}\r\nCookie: {browser.cookie}\r\n\r\n"
            second = f"GET /second HTTP/1.1\r\nHost: {other.host}\r\nCookie: {browser.cookie}\r\n\r\n"
            answers = raw(site, (first + second).encode())
            assert answers.count(b"HTTP/1.1 200 ") == 1
            assert answers.count(b"HTTP/1.1 401 ") == 1
            assert b"/second" not in answers

    def test_a_head_that_does_not_end_is_refused(self, site: Site) -> None:
        assert raw(site, b"GET / HTTP/1.1\r\nX: " + b"x" * 100_000).split()[1] in (b"400", b"422", b"431")
