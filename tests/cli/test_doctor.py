"""The doctor, on machines and servers that are well and that are not."""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
import time
import venv
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from danlu.cli.server import checks
from danlu.cli.server.checks import Finding, Level
from danlu.client.config import Settings
from danlu.testing.serving import RunningServer

if TYPE_CHECKING:
    from tests.cli.conftest import Said

    Danlu = Callable[..., Said]


def test_a_server_that_is_well(danlu: Danlu, server: RunningServer) -> None:
    said = danlu("doctor", "--data-dir", str(server.data_dir), "--json")
    found = {finding["what"]: finding for finding in json.loads(said.out)}
    assert said.code == 0
    assert {
        found[what]["level"] for what in ("disk", "folder", "store", "database", "clock", "server", "clocks", "key")
    } == {"good"}
    assert set(found) >= {"python", "sandbox", "network", "cgroups"}


def test_every_finding_that_is_not_good_says_what_to_do(offline: Danlu, tmp_path: Path) -> None:
    for finding in json.loads(offline("doctor", "--data-dir", str(tmp_path / "new"), "--json").out):
        assert finding["level"] == "good" or finding["remedy"]


@pytest.mark.skipif(os.geteuid() != 0, reason="jobs of a server that is not root are the same user")
def test_packages_that_jobs_will_not_see_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    venv.create(tmp_path / "venv")
    (site,) = (tmp_path / "venv" / "lib").glob("python*/site-packages")
    for name, mode in (("danlu", 0o755), ("t9k", 0o700)):
        (site / name).mkdir(mode=mode)
        (site / name / "__init__.py").touch(mode=0o644)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "venv" / "bin" / "python"))
    found = checks.check_packages()
    assert (found.level, found.text) == (
        Level.WARNING,
        f"jobs can import danlu; not t9k ({site}/t9k is closed to other users)",
    )
    (site / "t9k").chmod(0o755)
    assert checks.check_packages().text == "jobs can import danlu, t9k; not installed: danlu-accel"


class TestFolder:
    def test_says_which_folder_was_looked_at_and_how_to_name_another(self, tmp_path: Path) -> None:
        found = checks.check_folder(tmp_path, is_named=False)
        assert found.text == f"{tmp_path} has no server data yet"
        assert "--data-dir FOLDER" in found.remedy
        (tmp_path / "server").mkdir()
        told = f"data folder of a server: {tmp_path}"
        assert checks.check_folder(tmp_path, is_named=True).text == told
        assert checks.check_folder(tmp_path, is_named=False).text.startswith(
            f"{told}; check another one with danlu doctor --data-dir FOLDER"
        )

    def test_is_found_as_the_server_finds_it(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.delenv("DANLU_SERVER_DATA_DIR", raising=False)
        assert checks.data_folder(None) == (Path("~/.danlu").expanduser(), False)
        monkeypatch.setenv("DANLU_SERVER_DATA_DIR", str(tmp_path))
        assert checks.data_folder(None) == (tmp_path, True)
        assert checks.data_folder(tmp_path / "other") == (tmp_path / "other", True)


def test_a_wrong_key(danlu: Danlu, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DANLU_API_KEY", "wrong")
    said = danlu("doctor", "--data-dir", str(tmp_path))
    assert said.code == 1
    assert "bad      key       the server rejects the key from the environment" in said.out
    assert "what to do: create a new one with danlu login" in said.out


def test_a_broken_database(tmp_path: Path) -> None:
    (tmp_path / "danlu.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    found = checks.check_database(tmp_path / "danlu.db")
    assert found.level is Level.BAD
    assert "backup" in found.remedy


def test_a_clock_that_was_set_back(tmp_path: Path) -> None:
    (tmp_path / "server").mkdir()
    (tmp_path / "server" / "danlu.db").write_text("")
    os.utime(tmp_path / "server" / "danlu.db", (5000.0, 5000.0))
    assert checks.check_clock(tmp_path, 4970.0).level is Level.GOOD
    found = checks.check_clock(tmp_path, 4000.0)
    assert (found.level, found.text) == (Level.WARNING, f"the clock is 1000 s behind files in {tmp_path}")


def test_clocks_that_do_not_agree() -> None:
    now = time.time()
    assert checks.check_clocks_agree("Thu, 01 Jan 1970 00:00:00 GMT", now).level is Level.WARNING
    assert checks.check_clocks_agree(None, now).level is Level.GOOD


def test_a_folder_that_cannot_be_written() -> None:
    found = checks.check_file_system(Path("/proc/self"))
    assert found.level is Level.BAD
    assert found.text.startswith("cannot write to /proc/self: ")


def test_a_port_that_is_free_and_one_that_is_not() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        assert checks.check_port(url).level is Level.BAD
    assert checks.check_port(url).level is Level.GOOD


@pytest.fixture
def stranger() -> Iterator[str]:
    """A web server that is not ours."""

    class Greets(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<h1>welcome</h1>")

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Greets) as web:
        serving = threading.Thread(target=web.serve_forever)
        serving.start()
        yield f"http://127.0.0.1:{web.server_port}"
        web.shutdown()
        serving.join()


def test_something_else_at_the_address(stranger: str) -> None:
    found = list(checks.check_server(Settings(stranger, None, "", None)))
    assert found == [
        Finding(
            "server",
            Level.BAD,
            f"the server is not a Danlu server: {stranger}",
            "use another port: danlu up --port PORT, and set DANLU_URL",
        )
    ]


def test_the_original_tikit_beside_ours_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [finding.what for finding in checks.check_old_names()] == []
    installed = tmp_path / "tikit-1.9.5.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: tikit\nVersion: 1.9.5\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    (finding,) = checks.check_old_names()
    assert (finding.level, "pip uninstall tikit" in finding.remedy) == (Level.WARNING, True)
