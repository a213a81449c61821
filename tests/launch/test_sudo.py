"""The stand-in for sudo, run by a real shell."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from danlu.launch import sudo
from danlu.launch.owner import login_name


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "sudo"
    path.write_text(sudo.TEXT)
    path.chmod(0o755)
    return str(path)


def run(program: str, *words: str) -> tuple[int, str, str]:
    env = {"PATH": "/usr/bin:/bin", "KEPT": "yes", "SHELL": "/bin/sh"}
    done = subprocess.run(
        [program, *words], capture_output=True, text=True, check=False, env=env, stdin=subprocess.DEVNULL
    )
    return done.returncode, done.stdout.strip(), done.stderr.strip()


@pytest.mark.parametrize(
    ("words", "printed"),
    [
        (["-E", "bash", "-c", "echo $KEPT"], "yes"),
        (["-u", "root", "echo", "hi"], "hi"),
        (["-uroot", "echo", "hi"], "hi"),
        (["-Eu", "root", "--", "echo", "-n", "hi"], "hi"),
        (["-EHn", "echo", "two  blanks"], "two  blanks"),
        (["--user=root", "--preserve-env", "echo", "hi"], "hi"),
        (["--user", "root", "--preserve-env=KEPT", "echo", "hi"], "hi"),
        (["A=1", "B=two words", "sh", "-c", "echo $A $B"], "1 two words"),
        (["-E", "A=1", "-u", "root", "--", "sh", "-c", "echo $A"], "1"),
        (["-s", "echo", "a b"], "a b"),
        (["-v"], ""),
        (["-k", "echo", "hi"], "hi"),
    ],
)
def test_the_command_runs_as_sudo_would_have_it(program: str, words: list[str], printed: str) -> None:
    assert run(program, *words) == (0, printed, "")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "sudo: no command was given"),
        (["no-such-thing"], "sudo: no-such-thing: command not found"),
        (["-e", "file"], "sudo: option -e is not possible in a job"),
        (["--chroot=/x", "true"], "sudo: --chroot is not possible in a job"),
    ],
)
def test_what_it_cannot_do_it_says(program: str, words: list[str], told: str) -> None:
    assert run(program, *words) == (1, "", told)


def test_the_commands_own_code_comes_back(program: str) -> None:
    assert run(program, "-E", "sh", "-c", "exit 7")[0] == 7


class TestLoginName:
    def test_an_ordinary_name_stays(self) -> None:
        assert login_name("lilei") == "lilei"

    def test_others_stay_apart(self) -> None:
        names = ["Li Lei", "li.lei", "li-lei", "root", "danlu", "丹炉", "u-li-lei-4f0a", ""]
        made = [login_name(name) for name in names]
        assert len(set(made)) == len(names)
        assert all(name == "li-lei" or name.startswith("u-") for name in made)
        assert max(map(len, made)) <= 31
