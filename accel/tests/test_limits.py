"""How long a file and a function may be, and how many arguments a function may take."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
MAX_LINES_OF_FILE = 400
MAX_LINES_OF_FUNCTION = 60
MAX_ARGUMENTS = 6
SIGNATURES_OF_OTHERS = {"_attention"}  # torch's scaled_dot_product_attention


def _offences(path: Path) -> Iterator[str]:
    text = path.read_text()
    name = path.relative_to(ROOT)
    if (lines := text.count("\n")) > MAX_LINES_OF_FILE:
        yield f"{name}: {lines} lines"
    if path.suffix != ".py":
        return
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or node.name in SIGNATURES_OF_OTHERS:
            continue
        names = [each.arg for each in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]]
        num_arguments = len(names) - (names[:1] in (["self"], ["cls"]))
        num_lines = (node.end_lineno or node.lineno) - node.lineno + 1
        if num_lines > MAX_LINES_OF_FUNCTION or num_arguments > MAX_ARGUMENTS:
            yield f"{name}, {node.name}: {num_lines} lines, {num_arguments} arguments"


def test_files_and_functions_are_small() -> None:
    folders = [ROOT / "src", ROOT / "tests", ROOT / "native"]
    files = [path for folder in folders for path in folder.rglob("*") if path.suffix in (".py", ".cpp", ".h", ".inl")]
    assert [offence for path in sorted(files) for offence in _offences(path)] == []
