"""Signing in and out, and what is kept of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from danlu.client.config import read_file
from danlu.testing.serving import RunningServer

if TYPE_CHECKING:
    from tests.cli.conftest import Said

    Danlu = Callable[..., Said]


def test_keys_are_made_used_and_deleted(danlu: Danlu, monkeypatch: pytest.MonkeyPatch) -> None:
    made = danlu("keys", "new", "--name", "for a test", "--days", "3")
    assert made.code == 0
    key_id = re.findall(r"key (\S+);", made.err)[0]
    assert any(key_id in line and "for a test" in line for line in danlu("keys", "ls").out.splitlines())
    monkeypatch.setenv("DANLU_API_KEY", made.out.strip())
    assert danlu("whoami").code == 0
    assert danlu("keys", "rm", key_id).code == 0
    said = danlu("whoami")
    assert said.code == 1
    assert said.err.startswith("danlu: ")
    assert made.out.strip() not in said.err


def test_a_link_is_good_once_and_leaves_a_key_that_logout_deletes(
    offline: Danlu, server: RunningServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = re.findall(r"\S+/signin\?token=\S+", server.said())[0]
    said = offline("login", link)
    assert said.code == 1  # the fixture has used it
    assert said.err.startswith("danlu: ")
    assert link.partition("token=")[2] not in said.err
    config = tmp_path / "config.yml"
    assert not config.exists()
    with server.client() as client:
        client.set_password("a good password")
    monkeypatch.setattr("sys.stdin", _Lines("a good password\n"))
    said = offline("login", "--name", "admin", "--url", server.url, "--password-stdin")
    assert said.code == 0, said.err
    kept = read_file(config)
    assert config.stat().st_mode & 0o777 == 0o600
    assert set(kept) == {"url", "api_key", "key_id"}
    assert offline("whoami").out.splitlines()[0] == f"admin (admin) at {server.url}"
    assert offline("logout").code == 0
    assert read_file(config) == {"url": server.url}
    with server.client() as client:
        assert kept["key_id"] not in [key.id for key in client.keys.list()]
    assert offline("logout").out == "not signed in\n"


class _Lines:
    """Standard input that is not a terminal."""

    def __init__(self, text: str) -> None:
        self._text = text

    def isatty(self) -> bool:
        return False

    def readline(self) -> str:
        return self._text
