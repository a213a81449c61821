"""Every command of README.md, docs/ and examples/*/README.md, executed as it is written, in a world of its page.

A command block is one in bash, sh or console, or one without a language in which a line begins with `danlu`. A page may
say why a block is not executed, in a comment before it: `<!-- not executed: REASON -->`, or which other test does it:
`<!-- executed by tests/... -->`.

A prompt may name who types (`ada$ danlu login`): everybody has a configuration of their own, the admin's is that of the
page. `pip` installs nothing, and fails for names, extras and folders that are not there.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.conftest import end_server, stop_jobs
from tests.guides.pages import ANSWERS, LONG, SETUPS, SUBSTITUTIONS
from tests.guides.terminal import run_at_terminal

from danlu.testing.serving import RunningServer
from danlu.testing.waiting import HANG_SECONDS

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "examples").glob("*/README.md")),
]
SHELLS = ("bash", "sh", "console")
PROGRAMS = ("danlu ", "$ ", "pytest ", "pip ", "torchrun ", "em ")
MAX_NOT_EXECUTED = 18
"""Blocks that need another world. Make it smaller, not larger."""

LINK = "http://127.0.0.1:8400/signin?token=..."
PUBLIC = "https://danlu.example.org"
SIGN_IN = re.compile(r"\S+/signin\?token=[\w.-]+")
_BLOCK = re.compile(
    r"(?:<!-- (?:not executed: (?P<reason>[^>]+)|executed by (?P<elsewhere>\S+)) -->\n+)?"
    r"^```(?P<language>\w*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_PROMPT = re.compile(r"^(?P<person>[a-z]*)\$ +(?P<command>.*)", re.MULTILINE)
_UP = re.compile(r"^danlu up(?P<options>[^#\n]*)(?:#.*)?$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    page: str
    line: int
    language: str
    text: str
    reason: str
    elsewhere: str
    """The test that executes it, in a world of its own."""

    @property
    def is_commands(self) -> bool:
        if self.language in SHELLS:
            return True
        return self.language == "" and any(line.startswith(PROGRAMS) for line in self.text.splitlines())

    @property
    def scripts(self) -> list[tuple[str, str]]:
        """Who types what; of a console only what follows prompts, one by one where they name people."""
        typed = [(found["person"], found["command"]) for found in _PROMPT.finditer(self.text)]
        if not typed:
            return [("", self.text)]
        return typed if any(person for person, _ in typed) else [("", "\n".join(command for _, command in typed))]


def blocks_of(page: Path) -> Iterator[Block]:
    text = page.read_text()
    for found in _BLOCK.finditer(text):
        line = text[: found.start("text")].count("\n")
        name = page.relative_to(ROOT).as_posix()
        why = (found["reason"] or "").strip()
        yield Block(name, line, found["language"], found["text"], why, found["elsewhere"] or "")


ALL_BLOCKS = [
    block for page in PAGES if "reference" not in page.parts for block in blocks_of(page) if block.is_commands
]
BLOCKS = [block for block in ALL_BLOCKS if not block.elsewhere]
ELSEWHERE = {"docs/guide/first-torch-job.md"}
"""Executed by a test of its own, on a machine where nothing is installed."""

NAMES = sorted({block.page for block in BLOCKS if not block.reason} - ELSEWHERE)


class World:
    """A home folder, a working folder and a server for a page."""

    def __init__(self, folder: Path, server: RunningServer, answers: dict[str, str]) -> None:
        self.folder = folder / "work"
        self.home = folder / "home"
        self.link = LINK
        self.answers = answers
        self.started: list[RunningServer] = []
        for path in (self.folder, self.home / ".danlu"):
            path.mkdir(parents=True)
        shutil.copytree(ROOT / "examples", self.folder / "examples")
        self._put_pip()
        self.use(server)

    def use(self, server: RunningServer) -> None:
        self.server = server
        config = self.home / ".danlu" / "config.yml"
        config.write_text(f"url: {server.url}\napi_key: {server.api_key}\n")
        config.chmod(0o600)

    def _put_pip(self) -> None:
        program = self.home / "bin" / "pip"
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\nexec {sys.executable} {ROOT}/tests/guides/checked_pip.py {ROOT} "$@"\n')
        program.chmod(0o755)

    def run(self, script: str, person: str = "") -> None:
        """Execute, and fail with what was said. Remember the link that was shown."""
        for found in _UP.finditer(script):
            self._start(shlex.split(found["options"]), is_first=LINK in script)
        script = _UP.sub("", script)
        script = substituted(script).replace(LINK, self.link).replace(f"{PUBLIC}/signin?token=...", self.link)
        script = script.replace(PUBLIC, self.server.url)
        env = {name: value for name, value in os.environ.items() if not name.startswith(("DANLU_", "PYTEST_"))}
        own = f"{self.home}/bin:{Path(sys.executable).parent}:{os.environ['PATH']}"
        config = self.home / ".danlu" / ("config.yml" if person in ("", "admin") else f"{person}.yml")
        env.update(HOME=str(self.home), PATH=own, LC_ALL="C.UTF-8", DANLU_CONFIG=str(config))
        done = self._execute(["bash", "-e", "-o", "pipefail", "-c", script], env)
        if shown := SIGN_IN.search(done.stdout):
            self.link = shown[0]
        assert done.returncode == 0, (
            f"{script}\n--- ended with {done.returncode}:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        )

    def _execute(self, words: list[str], env: dict[str, str]) -> subprocess.CompletedProcess[str]:
        if self.answers:
            return run_at_terminal(words, self.answers, cwd=self.folder, env={**env, "TERM": "dumb"})
        return subprocess.run(
            words,
            cwd=self.folder,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=HANG_SECONDS,
        )

    def _start(self, options: list[str], *, is_first: bool) -> None:
        """`danlu up`. Alone it is the server that is there, unless somebody is to sign in for the first time."""
        if not options and not is_first:
            return
        server = RunningServer(self.home.parent / f"data{len(self.started)}", *options)
        if is_first:
            server.api_key = "nobody's yet"
        self.started.append(server.start())
        if not is_first:
            self.use(server)
            return
        found = SIGN_IN.search(server.said())
        assert found is not None
        self.link, self.server = found[0], server
        (self.home / ".danlu" / "config.yml").unlink()

    def close(self) -> None:
        for server in self.started:
            server.stop()


@pytest.fixture(scope="module")
def docs_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    running = RunningServer(tmp_path_factory.mktemp("docs") / "data", "--simulate", "npu:910b:8").start()
    yield running
    end_server(running)


def substituted(text: str) -> str:
    for old, new in SUBSTITUTIONS.items():
        text = text.replace(old, new)
    return text


def job_files(page: str) -> dict[str, str]:
    """Files that the page itself shows: blocks in YAML that begin with their name."""
    found = {}
    for block in blocks_of(ROOT / page):
        name = re.match(r"# (\w\S*\.ya?ml)\b", block.text)
        if block.language == "yaml" and name is not None:
            found[name[1]] = block.text
    return found


def cases() -> Iterator[object]:
    for name in NAMES:
        yield pytest.param(name, marks=[pytest.mark.long] if name in LONG else [])


@pytest.mark.parametrize("page", list(cases()))
def test_the_commands_of_a_page_work(page: str, docs_server: RunningServer, tmp_path: Path) -> None:
    world = World(tmp_path, docs_server, ANSWERS.get(page, {}))
    try:
        for name, text in job_files(page).items():
            (world.folder / name).write_text(substituted(text))
        before = SETUPS.get(page, [])
        for number, block in enumerate(block for block in BLOCKS if block.page == page and not block.reason):
            setup = "\n".join(before[number : number + 1])
            typed = block.scripts
            if len(typed) == 1:
                world.run(f"{setup}\n{typed[0][1]}")
                continue
            world.run(setup)
            for person, script in typed:
                world.run(script, person)
    finally:
        world.close()
        stop_jobs(docs_server)


def test_few_blocks_are_left_out_and_each_says_why() -> None:
    left_out = [f"{block.page}:{block.line}: {block.reason}" for block in BLOCKS if block.reason]
    assert len(left_out) <= MAX_NOT_EXECUTED, "\n".join(left_out)


def test_what_another_test_executes_is_named_there() -> None:
    for block in ALL_BLOCKS:
        if block.elsewhere:
            assert f'"{Path(block.page).name}"' in (ROOT / block.elsewhere).read_text(), block


def test_what_is_prepared_is_for_a_page() -> None:
    assert sorted(set(SETUPS) - set(NAMES)) == []
    assert sorted((LONG | set(ANSWERS)) - set(NAMES)) == []
