"""Only `cli/terminal.py` prints: it escapes what comes from other people."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

CLI = Path(__file__).parents[2] / "src" / "danlu" / "cli"
PRINTER = "terminal.py"
CALLS = ("print", "input", "os.write", "os.system", "typer.echo", "typer.secho", "click.echo", "click.secho")
STREAMS = ("sys.stdout", "sys.stderr", "sys.__stdout__", "sys.__stderr__")
STREAM_QUESTIONS = {"isatty", "fileno", "readline", "read"}
"""What may be asked of a standard stream elsewhere."""


def _dotted(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def prints(source: str) -> Iterator[str]:
    """Every way to print that a module uses, with its line."""
    tree = ast.parse(source)
    asked = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr in STREAM_QUESTIONS
    }
    for node in ast.walk(tree):
        name = _dotted(node)
        if isinstance(node, ast.Call) and _dotted(node.func) in CALLS:
            yield f"line {node.lineno}: {_dotted(node.func)}"
        elif isinstance(node, ast.expr) and name in STREAMS and id(node) not in asked:
            yield f"line {node.lineno}: {name}"
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            module = getattr(node, "module", None) or ""
            for alias in node.names:
                if f"{module}.{alias.name}" in STREAMS or module == "builtins":
                    yield f"line {node.lineno}: import of {module}.{alias.name}"
                if f"{module}.{alias.name}".lstrip(".").partition(".")[0] in ("rich", "click"):
                    yield f"line {node.lineno}: import of {module or alias.name}"


def test_nothing_in_the_command_line_prints_but_its_terminal() -> None:
    found = [
        f"{path.relative_to(CLI)}: {told}; use danlu.cli.terminal"
        for path in sorted(CLI.rglob("*.py"))
        if path != CLI / PRINTER
        for told in prints(path.read_text())
    ]
    assert found == []


@pytest.mark.parametrize(
    "source",
    [
        "print('x')",
        "import sys\nsys.stdout.write('x')",
        "import sys\nsys.stderr.buffer.write(b'x')",
        "import sys\nstream = sys.stderr",
        "import typer\ntyper.echo('x')",
        "from rich.console import Console",
        "import os\nos.write(1, b'x')",
        "from sys import stdout\nstdout.write('x')",
        "from builtins import print as say\nsay('x')",
    ],
)
def test_other_ways_to_print_are_noticed(source: str) -> None:
    assert list(prints(source)) != []


def test_questions_about_a_stream_are_allowed() -> None:
    assert list(prints("import sys\nsys.stdout.isatty() and sys.stdin.readline()")) == []
