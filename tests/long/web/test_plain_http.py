"""Pages that came over plain HTTP from another machine: they have no SHA-256 of the browser's own."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.conftest import end_server
from tests.support.browser import Tab, running_browser

from danlu.client.files.code import build_tree
from danlu.testing.serving import RunningServer

PASSWORD = "correct horse"
NAME = "danlu.test"


@pytest.mark.long
def test_a_page_over_plain_http_hashes_by_itself(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "train.py").write_text("print('never seen before')\n" * 10_000)
    (folder / "words.py").write_text("")
    server = RunningServer(tmp_path / "data")
    server.env = {"DANLU_SERVER_PUBLIC_URL": f"http://{NAME}"}
    with running_browser(f"--host-resolver-rules=MAP {NAME} 127.0.0.1") as browser:
        server.start()
        with server.client() as client:
            client.set_password(PASSWORD)
        tab = Tab(browser, f"http://{NAME}:{server.url.rpartition(':')[2]}")
        page = tab.sign_in("admin", PASSWORD)
        assert page.evaluate("window.isSecureContext || 'subtle' in crypto") is False
        tab.go("/submit")
        page.locator("input[type=file][webkitdirectory]").set_input_files(folder)
        # the server took the files by the digests that the page gave them; the command line names the same tree
        tree = page.locator(f"code[title='{build_tree(folder).tree.digest}']")
        tree.wait_for()
        # Chromium says of every page over plain HTTP that its isolation does not count
        assert [error for error in tab.errors if "Cross-Origin-Opener-Policy" not in error] == []
        tab.close()
    end_server(server)
