"""`danlu bench`, as somebody types it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Said

QUICK = ("--set", "parameters.megabytes=1", "--set", "parameters.steps=2", "--set", "parameters.warmup=0")


def test_suites_are_listed_without_a_server(offline: Callable[..., Said]) -> None:
    said = offline("bench", "suites")
    assert said.code == 0
    assert [line.split()[0] for line in said.out.splitlines()[1:]] == [
        *("allreduce", "dataload", "matmul", "memory", "resnet-like", "storage", "transformer-like")
    ]
    assert json.loads(offline("bench", "suites", "--json").out)[3]["name"] == "memory"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("run", "memories"), "no suite 'memories'; expected a file, or one of allreduce"),
        (("run", "memory", "--set", "parameters"), "is not a setting"),
        (("run", "memory", "--set", "nodes=none"), "invalid suite: nodes"),
    ],
)
def test_what_cannot_be_run_is_told(offline: Callable[..., Said], words: tuple[str, ...], told: str) -> None:
    said = offline("bench", *words)
    assert said.code == 1
    assert told in said.err


def test_one_run_through_all_commands(danlu: Callable[..., Said]) -> None:
    made = danlu("bench", "run", "memory", *QUICK, "--set", "name=cli-memory", "--nodes", "1", "--json")
    assert made.code == 0, made.err
    report = json.loads(made.out)
    run = report["run"]
    shown = danlu("bench", "report", "cli-memory").out
    assert shown.startswith("# cli-memory: passed")
    assert f"Run `{run}`, normal mode" in shown
    assert json.loads(danlu("bench", "report", run, "--format", "json").out)["run"] == run
    assert danlu("bench", "report", run, "--format", "pdf").code == 1
    assert run in danlu("bench", "history", "cli-memory").out
    assert run in [one["run"] for one in json.loads(danlu("bench", "ls", "--json").out)]
    same = danlu("bench", "compare", run, run, "--json")
    assert (same.code, [one["change"] for one in json.loads(same.out)["changes"]]) == (0, [0.0])
    assert danlu("bench", "attach", run).code == 0
    stopped = danlu("bench", "stop", run)
    assert stopped.code == 0  # quiet when it is over
    assert danlu("bench", "board", "cli-memory").out.split() == ["PLACE", "RESULT", "NODES", "RANKS", "BY", "RUN"]


def test_posting_needs_the_key_of_the_collecting_server(danlu: Callable[..., Said]) -> None:
    said = danlu("bench", "post", "memory", "--to", "http://127.0.0.1:1")
    assert said.code == 2
    assert "set DANLU_TESTER_KEY to a key of the collecting server" in " ".join(said.err.replace("│", " ").split())


def test_wrong_numbers_of_nodes(danlu: Callable[..., Said]) -> None:
    assert danlu("bench", "run", "memory", "--nodes", "one").code == 2
    said = danlu("bench", "run", "memory", "--nodes", "0,1")
    assert (said.code, "expected at least 1 node, got 0" in said.err) == (1, True)
