"""What can be known of the commands without a server."""

from __future__ import annotations

import itertools
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from danlu.cli import COMMANDS, load_command

if TYPE_CHECKING:
    from tests.cli.conftest import Said


def all_commands() -> Iterator[tuple[str, Any]]:
    for name in COMMANDS:
        yield from _with_inner(name, load_command(name))


def _with_inner(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    """A command, and those of a group, which may have groups in it."""
    if getattr(command, "invoke_without_command", True):
        yield name, command
    for inner, one in getattr(command, "commands", {}).items():
        if not one.hidden:
            yield from _with_inner(f"{name} {inner}", one)


@pytest.mark.parametrize(("name", "command"), list(all_commands()))
def test_every_command_has_examples_that_call_it(name: str, command: Any) -> None:
    text = command.help
    _, found, examples = text.partition("Examples:")
    assert found
    assert f"danlu {name}" in examples


@pytest.mark.parametrize(("name", "command"), list(all_commands()))
def test_the_examples_can_be_parsed(name: str, command: Any) -> None:
    """Those of the pages in docs/guide are executed (tests/guides/test_docs.py); these are the reference."""
    for line in command.help.partition("Examples:")[2].splitlines():
        words = _words(line)
        if words[: 1 + len(name.split())] == ["danlu", *name.split()]:
            with command.make_context(name, words[1 + len(name.split()) :]) as context:
                assert context.command is command


def _words(line: str) -> list[str]:
    """The words of a line up to where the shell goes on by itself: a pipe, a file, a comment."""
    found = shlex.shlex(re.sub(r"\$\(.*\)", "X", line.strip()), posix=True, punctuation_chars="|<>&;")
    found.whitespace_split = True
    return list(itertools.takewhile(lambda word: not set(word) <= set("|<>&;"), found))


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_says_what_the_command_says(name: str) -> None:
    assert load_command(name).help.splitlines()[0] == COMMANDS[name].summary


@pytest.mark.parametrize(
    ("typed", "meant"), [("keys list", "keys ls"), ("models ls", "models list"), ("keys delete", "keys rm")]
)
def test_habits_from_one_group_work_in_another(typed: str, meant: str) -> None:
    group, _, word = typed.partition(" ")
    assert load_command(group).commands[word].help == dict(all_commands())[meant].help


READS = ["plan", "ranktable check", "ps", "show", "logs", "wait", "nodes", "whoami", "store ls", "keys ls"]


@pytest.mark.parametrize("name", READS)
def test_every_read_has_json(name: str) -> None:
    command = dict(all_commands())[name]
    assert "--json" in [option for parameter in command.params for option in parameter.opts]


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys\nfrom danlu.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "heavy = {'pydantic', 'httpx', 'yaml', 'rich', 'sqlalchemy', 'fastapi'} & set(sys.modules)\n"
        "print('loaded:', sorted(heavy))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "loaded: []"


def test_the_sdk_loads_no_library_of_the_server() -> None:
    code = (
        "import sys, danlu\ndanlu.Client(url='http://127.0.0.1:1').close()\n"
        "print(sorted({'sqlalchemy', 'fastapi', 'starlette', 'uvicorn', 'typer', 'alembic'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


class TestWrongCalls:
    @pytest.mark.parametrize(
        ("words", "told"),
        [
            (["nope"], "No such command 'nope'"),
            (["submit"], "Missing argument 'FILE'"),
            (["ps", "--state", "sleeping"], "--state: expected one of queued, starting, running"),
            (["ps", "--tag", "x"], "--tag: expected NAME=VALUE, got 'x'"),
            (["ps", "--tag", "=x"], "--tag: expected NAME=VALUE, got '=x'"),
            (["frameworks", "add", "x", "--env", "=1"], "--env: expected NAME=VALUE, got '=1'"),
            (["quota", "set", "npu="], "expected RESOURCE=AMOUNT, got 'npu='"),
            (
                ["artifacts", "upload", "a", "-r", "x=y"],
                "--reference: expected PATH=URI, such as data=s3://bucket/mnist/, got 'x=y'",
            ),
            (["logs", "a", "--rank", "3-1"], "--rank: expected ranks such as 0 or 0,2-3, got '3-1'"),
            (["logs", "a", "--rank", "x"], "expected ranks such as 0 or 0,2-3, got 'x'"),
            (["wait", "a", "--timeout", "soon"], "expected a duration such as 90s, 15m, 2h or 1d, got 'soon'"),
            (["run", "--env", "NOT_SET_HERE", "--", "true"], "'NOT_SET_HERE' is not set in your environment"),
            (["run", "--data", "store://main/x", "--", "true"], "--data: expected INPUT=PATH, got 'store://main/x'"),
            (["run", "-N", "0", "--", "true"], "Invalid value for '--nodes'"),
            (["store", "cp", "a", "b"], "expected one store://bucket/path and one local path"),
            (["store", "rm", "store://main/x/"], "is a folder; use -r to delete it"),
            (["login"], "expected either the LINK of `danlu up`, or --name"),
            (["up", "--port", "99999"], "Invalid value for '--port'"),
        ],
    )
    def test_end_with_2_and_say_what_would_be_right(
        self, offline: Callable[..., Said], words: list[str], told: str
    ) -> None:
        said = offline(*words)
        assert said.code == 2
        assert told in " ".join(said.err.split())

    def test_no_server_is_one_line_and_1(self, offline: Callable[..., Said], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("DANLU_URL", "http://127.0.0.1:9")
        said = offline("ps")
        assert (said.code, said.out) == (1, "")
        assert said.err.startswith("danlu: no server answers at http://127.0.0.1:9 ")
        assert said.err.count("\n") == 1
        assert "`danlu up`" in said.err

    def test_a_link_that_is_none_is_said_to_be_none_without_being_repeated(self, offline: Callable[..., Said]) -> None:
        said = offline("login", "http://127.0.0.1:1/?token=secret")
        assert said.code == 1
        assert said.err == ("danlu: this is not a sign-in link; it looks like http://127.0.0.1:8400/signin?token=...\n")
