"""How the console is served, and the stream that keeps it current."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from tests.support.events import told
from tests.support.world import Api, World

from danlu.server.console.files import ASK_AGAIN, IMMUTABLE, Console


@pytest.fixture
def built(tmp_path: Path) -> Console:
    folder = tmp_path / "console"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html>")
    (folder / "assets" / "index-abc.js").write_text("1")
    (folder / "assets" / "index-abc.js.br").write_bytes(b"br")
    (folder / "assets" / "index-abc.js.gz").write_bytes(b"gz")
    return Console(folder)


class TestFiles:
    def test_every_page_is_the_same_file(self, built: Console) -> None:
        for path in ("/", "/jobs", "/jobs/train-1/logs", "/jobs/resnet.v2"):
            found = built.find(path, "gzip")
            assert found is not None
            assert (found.path.name, found.caching) == ("index.html", ASK_AGAIN)

    def test_assets_are_kept_for_ever_and_sent_compressed(self, built: Console) -> None:
        found = {accepts: built.find("/assets/index-abc.js", accepts) for accepts in ("", "gzip, br;q=1", "gzip")}
        assert [(file.encoding, file.path.suffix, file.caching) for file in found.values() if file] == [
            ("", ".js", IMMUTABLE),
            ("br", ".br", IMMUTABLE),
            ("gzip", ".gz", IMMUTABLE),
        ]

    def test_an_asset_that_is_not_there_is_not_a_page(self, built: Console) -> None:
        assert built.find("/assets/old-123.js", "") is None
        assert built.find("/assets/index-abc.js.gz", "") is None
        page = built.find("/assets/../../etc/passwd", "")
        assert page is None or page.path.name == "index.html"


class TestServing:
    def test_pages_have_a_strict_policy(self, world: World, built: Console) -> None:
        object.__setattr__(world.state, "console", built)
        with world.serving() as url:
            for path in ("/", "/jobs/x", "/signin?token=x"):
                answer = httpx.get(f"{url}{path}")
                assert answer.text == "<!doctype html>"
                policy = answer.headers["Content-Security-Policy"]
                assert "unsafe" not in policy
                assert "script-src 'self';" in policy
                assert answer.headers["X-Content-Type-Options"] == "nosniff"

    def test_the_api_answers_for_itself(self, world: World, built: Console) -> None:
        object.__setattr__(world.state, "console", built)
        with world.serving() as url:
            assert httpx.get(f"{url}/api/v1/nothing").json()["error"] == "NotFound"
            assert httpx.post(f"{url}/jobs").status_code == 404

    def test_without_a_build_the_page_says_how(self, world: World, tmp_path: Path) -> None:
        object.__setattr__(world.state, "console", Console(tmp_path / "none"))
        with world.serving() as url:
            assert "make web" in httpx.get(url).text
            assert httpx.get(f"{url}/jobs").status_code == 404
            assert "danlu login" in httpx.get(f"{url}/signin").text


class TestBrowserSession:
    def test_a_page_that_is_loaded_again_learns_its_csrf_word(self, world: World) -> None:
        with world.serving() as url, Api(url, world.api_key()) as api, Api(url) as browser:
            api("PUT", "/me/password", json={"password": "correct horse"})
            opened = browser.json("POST", "/session", json={"name": "admin", "password": "correct horse"})
            assert browser.json("GET", "/me")["csrf"] == opened["csrf"]
            assert api.json("GET", "/me")["csrf"] == ""


class TestChanges:
    def test_it_begins_with_what_changed_shortly_before(self, world: World, api: Api) -> None:
        job = world.started(nodes=2)
        assert [(name, row["id"], row["state"]) for name, row in told(api, "/changes")] == [("job", job, "running")]
        world.clock.pass_seconds(60)
        assert told(api, "/changes") == []

    def test_others_hear_nothing_of_it(self, world: World) -> None:
        world.started()
        with world.serving() as url, Api(url, world.api_key()) as api, Api(url) as browser:
            link = api.json("POST", "/users", json={"name": "bob"})["url"]
            browser("POST", "/session", json={"token": link.partition("token=")[2]})
            assert told(browser, "/changes") == []
