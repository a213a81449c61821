"""How long and how wide things may be. What is larger still is listed with its number, and the lists only shrink."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

from tests.support.source import Function, files, functions_of, lines_of, tree_of

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60
MAX_ARGUMENTS = 6
MAX_POSITIONAL = 2
MAX_MODULES = 25

PASSED_ON = {"self", "cls", "session", "state", "who", "caller", "database", "context"}
"""What every caller has and hands on; it does not count among the first two."""

ROUTERS_AND_COMMANDS = {"get", "post", "put", "patch", "delete", "head", "command", "callback"}
"""Decorators of functions whose arguments are the parameters of a request or the options of a command. The
options of a command that is registered elsewhere are the defaults of its arguments."""

RELEASED = "store/sql/migrations/versions/"
"""Migrations are never edited."""

LONG_FILES: dict[str, int] = {}
LONG_FUNCTIONS: dict[str, int] = {
    "cli/jobs/run.py: run": 70,
}
MANY_ARGUMENTS: dict[str, int] = {
    "client/cluster/flavors.py: Flavors.add": 7,
    "client/http.py: Http.send": 7,
    "client/jobs/logs.py: log_query": 7,
    "client/tracking/artifacts.py: Artifacts.upload": 8,
    "engines/local/prepare.py: _describe": 7,
    "launch/plain.py: task_plan": 8,
    "scheduler/reconcile.py: _settle": 7,
    "server/objects/operations.py: list_objects": 7,
    "store/logs/index.py: _record_piece": 7,
    "store/metrics/journals.py: _advance": 7,
    "track/begin.py: start": 10,
}
POSITIONAL: dict[str, int] = {
    "cli": 3,
    "client": 7,
    "content": 1,
    "engines": 9,
    "journal": 2,
    "launch": 8,
    "node": 13,
    "scheduler": 17,
    "server": 34,
    "spec": 3,
    "store": 1,
    "store/logs": 13,
    "store/metrics": 19,
    "store/objects": 9,
    "store/queries": 15,
    "store/upkeep": 5,
    "testing": 1,
    "track": 24,
    "transfer": 22,
}
"""Folder -> how many public functions in it take more than two arguments by position."""

LARGE_FOLDERS: dict[str, int] = {}


def test_files_are_short_enough_to_read() -> None:
    long = {file: number for file in _ours() if (number := lines_of(file)) > MAX_FILE_LINES}
    assert _told(long, LONG_FILES) == []


def test_functions_are_short_enough_to_read() -> None:
    long = {
        f"{file}: {name}": number
        for file, name, function in _functions()
        if (number := (function.end_lineno or 0) - function.lineno + 1) > MAX_FUNCTION_LINES
    }
    assert _told(long, LONG_FUNCTIONS) == []


def test_functions_take_few_arguments() -> None:
    many = {
        f"{file}: {name}": number
        for file, name, function in _functions()
        if not _is_outward(function) and (number := _num_arguments(function)) > MAX_ARGUMENTS
    }
    assert _told(many, MANY_ARGUMENTS) == []


def test_arguments_after_the_first_two_are_given_by_name() -> None:
    found = Counter(_part(file) for file, name, function in _functions() if _is_positional(name, function))
    told = _told(found, POSITIONAL)
    assert [one for one in told if "write" not in one] == []  # counts of folders change with every merge


def test_folders_are_small_enough_to_read() -> None:
    modules = Counter(str(PurePosixPath(file).parent) for file in files() if not file.endswith("__init__.py"))
    large = {folder: number for folder, number in modules.items() if number > MAX_MODULES}
    assert _told(large, LARGE_FOLDERS) == []


def test_a_list_names_what_is_new_what_grew_and_what_is_not_needed() -> None:
    assert _told({"new": 5, "more": 9, "less": 7}, {"more": 8, "less": 8, "gone": 7}) == [
        "gone: is listed and need not be; remove it from the list",
        "less: is listed with 8 and has 7; write 7 into the list",
        "more: 9, and at most 8 are allowed",
        "new: 5 is too much; make it smaller",
    ]


def test_what_is_counted() -> None:
    text = (
        "def f(session, state, who, one, two, *, three): ...\n"
        "def g(session, one, two, three): ...\n"
        "@router.get('')\n"
        "def h(a, b, c, d, e, f, g): ...\n"
        "class C:\n"
        "    def m(self, a, b, c): ...\n"
        "    def _m(self, a, b, c): ...\n"
    )
    found = dict(functions_of(ast.parse(text)))
    assert {name for name, function in found.items() if _is_positional(name, function)} == {"g", "C.m"}
    assert [_num_arguments(found[name]) for name in ("f", "h", "C.m")] == [6, 7, 3]
    assert _is_outward(found["h"])


def _told(found: Mapping[str, int], listed: Mapping[str, int]) -> list[str]:
    """What is wrong: too large and not listed, larger or smaller than listed, listed without need."""
    new = [f"{name}: {number} is too much; make it smaller" for name, number in found.items() if name not in listed]
    grown = [
        f"{name}: {number}, and at most {listed[name]} are allowed"
        for name, number in found.items()
        if name in listed and number > listed[name]
    ]
    shrunk = [
        f"{name}: is listed with {listed[name]} and has {number}; write {number} into the list"
        for name, number in found.items()
        if name in listed and number < listed[name]
    ]
    needless = [f"{name}: is listed and need not be; remove it from the list" for name in listed if name not in found]
    return sorted([*new, *grown, *shrunk, *needless])


def _part(file: str) -> str:
    """The folder that a file is counted with: the parts of the store count by themselves."""
    parts = file.split("/")
    return "/".join(parts[:2]) if parts[0] == "store" and len(parts) > 2 else parts[0]


def _ours() -> Iterable[str]:
    return (file for file in files() if not file.startswith(RELEASED))


def _functions() -> Iterable[tuple[str, str, Function]]:
    for file in _ours():
        for name, function in functions_of(tree_of(file)):
            yield file, name, function


def _is_outward(function: Function) -> bool:
    """Whether its arguments are for people: parameters of a request, options of a command."""
    called = (one.func if isinstance(one, ast.Call) else one for one in function.decorator_list)
    if any(isinstance(one, ast.Attribute) and one.attr in ROUTERS_AND_COMMANDS for one in called):
        return True
    return any(ast.unparse(default).startswith("typer.") for default in function.args.defaults)


def _num_arguments(function: Function) -> int:
    given = function.args
    names = [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return len([name for name in names if name not in ("self", "cls")])


def _is_positional(name: str, function: Function) -> bool:
    """Whether a public function takes more than two arguments by position."""
    if name.rpartition(".")[2].startswith("_") or _is_outward(function):
        return False
    by_position = (*function.args.posonlyargs, *function.args.args)
    return len([one for one in by_position if one.arg not in PASSED_ON]) > MAX_POSITIONAL
