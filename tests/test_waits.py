"""How tests may wait: for something to be true. A limit in seconds measures the machine, and fails where it is busy."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("tests", "accel/tests", "compat/tests", "src/danlu/testing")
THE_ONE_THAT_SLEEPS = ROOT / "src/danlu/testing/waiting.py"
REACHED_SECONDS = 10
"""A shorter limit is one that the test expects to be reached."""

CLOCKS = {"monotonic", "perf_counter", "time"}
BLOCKING = {"wait", "join", "communicate", "acquire", "settimeout"}
CLOCK_LOOP = re.compile(r"\bwhile\b[^\n]*\btime\.(time|monotonic|perf_counter)\(\) *<")
"""In the text of a program that a test starts."""


def number_in(node: ast.expr | None) -> float:
    return float(node.value) if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) else 0.0


def name_of(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def reads_a_clock(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and name_of(node.func) in CLOCKS and not node.args


def _lets_others_go(call: ast.Call) -> bool:
    """`asyncio.sleep(0)`"""
    return len(call.args) == 1 and isinstance(call.args[0], ast.Constant) and call.args[0].value == 0


def limits_in(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = name_of(node.func)
            if name == "sleep" and not _lets_others_go(node):
                yield node.lineno, "sleeps; wait_until or an event waits for what is meant"
            limits = [word.value for word in node.keywords if word.arg in ("timeout", "deadline", "timeout_seconds")]
            limits += node.args[:1] if name in BLOCKING else []
            if max(map(number_in, limits), default=0.0) >= REACHED_SECONDS:
                yield node.lineno, "has a limit of its own; expected none, or HANG_SECONDS"
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and CLOCK_LOOP.search(node.value):
            yield node.lineno, "starts a program that ends by the clock; let it wait for a file of the test"
        if isinstance(node, ast.Attribute) and node.attr == "timeout" and name_of(node.value) == "mark":
            yield node.lineno, "has a time-out of its own; expected the one in pyproject.toml"
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.Lt, ast.LtE)):
            left, right = node.left, node.comparators[0]
            took = isinstance(left, ast.BinOp) and isinstance(left.op, ast.Sub) and reads_a_clock(left.left)
            if (took and number_in(right)) or reads_a_clock(left):
                yield node.lineno, "limits how long something takes; expected a limit of work"


def test_no_test_limits_seconds_or_sleeps() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line} {what}"
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*.py"))
        for line, what in limits_in(ast.parse(path.read_text()))
        if path not in (THE_ONE_THAT_SLEEPS, Path(__file__))
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "line",
    [
        "time.sleep(0.1)",
        "job.wait(timeout=60)",
        "thread.join(30)",
        "subprocess.run(['x'], timeout=120)",
        "while time.monotonic() < end: pass",
        "assert time.monotonic() - began < 10",
        "@pytest.mark.timeout(200)\ndef test(): pass",
        "python('while time.time() < t + 2.5: pass')",
    ],
)
def test_each_kind_is_seen(line: str) -> None:
    assert len(list(limits_in(ast.parse(line)))) == 1
