"""Texts in our source that people are told, as it says them: `{}` stands for a value."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator
from pathlib import Path

import danlu

SOURCE = Path(danlu.__file__).parent


def calls_in(folder: str, names: Container[str], *, parameters: Container[str] = ()) -> Iterator[tuple[str, str]]:
    """Place and text of what calls of these names are given, by position or as one of the parameters."""
    for place, node in _nodes_in(folder):
        if not isinstance(node, ast.Call) or _name_of(node.func) not in names:
            continue
        named = [keyword.value for keyword in node.keywords if keyword.arg in parameters]
        yield from ((place, text) for text in _texts([*node.args, *named]))


def pairs_in(folder: str, codes: Container[str]) -> Iterator[tuple[str, str]]:
    """Place and text of pairs that begin with one of the codes."""
    for place, node in _nodes_in(folder):
        if isinstance(node, ast.Tuple) and len(node.elts) == 2 and text_of(node.elts[0]) in codes:
            yield from ((place, text) for text in _texts(node.elts[1:]))


def variables_in(folder: str, names: Container[str]) -> Iterator[tuple[str, str]]:
    """Place and text of what variables of these names are set to."""
    for place, node in _nodes_in(folder):
        if isinstance(node, ast.Assign) and any(_name_of(target) in names for target in node.targets):
            yield from ((place, text) for text in _texts([node.value]))


def returned_in(file: str) -> Iterator[tuple[str, str]]:
    """Place and text of what the functions of a file return."""
    for place, node in _nodes_in(file):
        if isinstance(node, ast.Return) and node.value is not None:
            yield from ((place, text) for text in _texts([node.value]))


def formatted_in(file: str) -> Iterator[tuple[str, str]]:
    """Place and text of all that is made of words and values in a file."""
    for place, node in _nodes_in(file):
        if isinstance(node, ast.JoinedStr):
            yield from ((place, text) for text in _texts([node]))


def names_given_in(folder: str, function: str, key: str) -> Iterator[str]:
    """Names of what a function is given, and what others are with a `key.SOMETHING`; also in a dict behind `**`."""
    for path in sorted((SOURCE / folder).rglob("*.py")):
        tree = ast.parse(path.read_text())
        dicts = {
            _name_of(node.targets[0]): node.value.keys
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict)
        }
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            if _name_of(node.func) == function or any(_is_of(one, key) for one in node.args):
                named = [keyword.arg for keyword in node.keywords]
                behind = [dicts.get(_name_of(keyword.value), []) for keyword in node.keywords if keyword.arg is None]
                yield from filter(None, [*named, *(text_of(name) for names in behind for name in names if name)])


def _is_of(node: ast.expr, key: str) -> bool:
    return isinstance(node, ast.Attribute) and _name_of(node.value) == key


def text_of(node: ast.expr) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return None


def _texts(nodes: list[ast.expr]) -> Iterator[str]:
    yield from (text for node in nodes if (text := text_of(node)) is not None and " " in text)


def _nodes_in(place: str) -> Iterator[tuple[str, ast.AST]]:
    found = SOURCE / place
    for path in sorted(found.rglob("*.py")) if found.is_dir() else [found]:
        name = path.relative_to(SOURCE).as_posix()
        yield from ((name, node) for node in ast.walk(ast.parse(path.read_text())))


def _name_of(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
