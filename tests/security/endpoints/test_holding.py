"""What one client of the proxy to endpoints holds: heads that do not end, connections, and cookies of the console."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from tests.security.endpoints.conftest import Site, make_site
from tests.support.world import World

from danlu.gateway.proxy import heads
from danlu.gateway.proxy.server import ProxyLimits
from danlu.testing.raw_http import RawConnection

WAY = heads.Way(origin="http://train-1-80.localhost:8401", address="127.0.0.1", cookie="danlu_endpoint")
MAX_HELD = 5


@pytest.fixture
def hasty(world: World) -> Iterator[Site]:
    """One that does not wait long, and takes few connections from one address."""
    with make_site(world, ProxyLimits(head_seconds=1.0, per_address=MAX_HELD)) as made:
        yield made


def connection(site: Site, source: str = "127.0.0.5") -> RawConnection:
    return RawConnection(f"http://127.0.0.1:{site.doors.settings.endpoints_port}", source=source)


class TestHeads:
    def test_one_that_never_ends_is_cut_off(self, hasty: Site) -> None:
        with connection(hasty) as held:
            held.send(b"GET / HTTP/1.1\r\nHost: ")
            assert held.read_to_end() == b""

    def test_one_that_trickles_is_cut_off_too(self, hasty: Site) -> None:
        with connection(hasty) as held:
            held.send(b"GET / HTTP/1.1\r\nHost: ")
            held.wait_seconds(0.1)
            while not held.is_cut():  # a byte now and then, for as long as it takes
                try:
                    held.send(b"x")
                    held.read_to_end()
                except TimeoutError:
                    continue
                except OSError:
                    break

    def test_one_address_does_not_take_all_connections(self, hasty: Site) -> None:
        with ExitStack() as stack:
            for _ in range(MAX_HELD):
                held = stack.enter_context(connection(hasty))
                held.send(b"GET / HTTP/1.1\r\n")
            with connection(hasty) as one_too_many:
                assert one_too_many.read_to_end() == b""
            with hasty.browser() as browser:
                assert browser.get("/x").status_code == 200


class TestCookies:
    @pytest.mark.parametrize(
        "cookie",
        [
            b"danlu_session=evil; Domain=example.com",
            b"danlu_session =evil; Domain=example.com",
            b" danlu_session\t=evil",
            b"=danlu_session=evil; Domain=example.com",
            b"= =danlu_endpoint=evil",
            b"danlu_endpoint=evil",
            b"danlu_session; Domain=example.com",
        ],
    )
    def test_a_program_does_not_set_those_that_let_somebody_in(self, cookie: bytes) -> None:
        """However it writes the name: browsers strip spaces, and send a cookie without a name as it is."""
        assert heads.to_browser([(b"Set-Cookie", cookie), (b"X-Kept", b"1")], WAY) == [(b"X-Kept", b"1")]

    def test_its_own_pass(self) -> None:
        own = [(b"Set-Cookie", b"_xsrf=2|danlu_session=3; Path=/"), (b"Set-Cookie", b"my_danlu_session=1")]
        assert heads.to_browser(own, WAY) == own
