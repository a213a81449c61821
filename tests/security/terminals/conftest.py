"""The terminal of a victim: commands in a process of their own whose output is a pseudo-terminal."""

from __future__ import annotations

import fcntl
import os
import re
import struct
import subprocess
import sys
import termios
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from danlu.client import Client
from danlu.client.people.keys import parse_link, sign_in
from danlu.testing.serving import RunningServer
from danlu.wire.auth import SignIn

COLUMNS = 400
SGR = re.compile(r"\x1b\[[0-9;:]*m")


class Screen(NamedTuple):
    code: int
    data: bytes
    """Every byte that reached the terminal."""

    @property
    def text(self) -> str:
        return self.data.decode("utf-8")

    @property
    def lines(self) -> list[str]:
        return self.text.replace("\r\n", "\n").removesuffix("\n").split("\n")

    def assert_harmless(self) -> None:
        """Nothing but printable text, line ends and colours arrived."""
        plain = SGR.sub("", self.text).replace("\r\n", "\n")
        bad = [char for char in plain if unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp", "Cs", "Co")]
        assert [char for char in bad if char not in "\n\t"] == [], self.data


Victim = Callable[..., Screen]


@pytest.fixture
def victim(server: RunningServer, tmp_path: Path) -> Victim:
    """Call a command as the admin, on a terminal."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("DANLU_", "NO_COLOR"))}
    env |= {"DANLU_URL": server.url, "DANLU_API_KEY": server.api_key, "DANLU_CONFIG": str(tmp_path / "config.yml")}

    def call(
        *words: str, url: str = server.url, extra: dict[str, str] | None = None, is_terminal: bool = True
    ) -> Screen:
        command = [sys.executable, "-m", "danlu", *words]
        full = {**env, "DANLU_URL": url, "TERM": "xterm-256color", "LANG": "C.UTF-8", **(extra or {})}
        if not is_terminal:
            piped = subprocess.run(command, capture_output=True, cwd=tmp_path, env=full, check=False)
            return Screen(piped.returncode, piped.stdout)
        inner, outer = os.openpty()
        fcntl.ioctl(outer, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=outer, stderr=outer, cwd=tmp_path, env=full
        )
        os.close(outer)
        data = b"".join(_until_closed(inner))
        os.close(inner)
        return Screen(process.wait(), data)

    return call


def _until_closed(terminal: int) -> Iterator[bytes]:
    while True:
        try:
            piece = os.read(terminal, 1 << 16)
        except OSError:  # what Linux says when nobody has the other end open any more
            return
        if not piece:
            return
        yield piece


@pytest.fixture(scope="session")
def mallory(server: RunningServer) -> Iterator[Client]:
    """A member of the admin's project, who chooses names."""
    with server.client() as admin:
        link = parse_link(admin.people.invite("mallory", project="default").url)
    key = sign_in(server.url, SignIn(token=link.token), key_name="attack")
    with Client(url=server.url, api_key=key.api_key) as client:
        yield client
