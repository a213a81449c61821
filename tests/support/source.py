"""The source as the architecture tests read it: files, imports, functions."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple, Union

SOURCE = Path(__file__).parents[2] / "src" / "danlu"
Function = Union[ast.FunctionDef, ast.AsyncFunctionDef]
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Import(NamedTuple):
    file: str
    """Below src/danlu."""

    name: str
    """Dotted, down to the imported name."""

    is_lazy: bool


def files() -> list[str]:
    """All modules, by their paths below src/danlu."""
    return sorted(path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py"))


def lines_of(file: str) -> int:
    return len((SOURCE / file).read_text().splitlines())


@cache
def tree_of(file: str) -> ast.Module:
    return ast.parse((SOURCE / file).read_text())


def folder_of(file: str) -> str:
    """The folder below src/danlu that a file belongs to, or its own name."""
    return file.split("/", maxsplit=1)[0].removesuffix(".py")


def functions_of(tree: ast.Module) -> Iterator[tuple[str, Function]]:
    """All functions and methods, those inside of others as well, by their dotted names."""
    yield from _functions(tree, "")


def _functions(node: ast.AST, before: str) -> Iterator[tuple[str, Function]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, FUNCTIONS):
            yield f"{before}{child.name}", child
            yield from _functions(child, f"{before}{child.name}.")
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{before}{child.name}.")
        else:
            yield from _functions(child, before)


def imports_of(file: str, tree: ast.Module) -> Iterator[Import]:
    lazy = {id(inner) for _, function in functions_of(tree) for inner in ast.walk(function)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(file, alias.name, id(node) in lazy)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative imports hide where things come from"
            for alias in node.names:
                yield Import(file, f"{node.module}.{alias.name}", id(node) in lazy)


@cache
def all_imports() -> tuple[Import, ...]:
    return tuple(found for file in files() for found in imports_of(file, tree_of(file)))
