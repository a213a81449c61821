"""Who opens transactions, and who speaks SQL. The rule is decision 0135."""

from __future__ import annotations

import ast

from tests.support.source import FUNCTIONS, Import, files, functions_of, imports_of, tree_of

OPENINGS = {"read", "write", "reading", "writing", "duty"}
"""Methods of the database that begin a transaction."""

ROUTES = ("/routes.py", "_routes.py", "/changes.py", "/pages.py")
OPERATIONS = "/operations.py"

BESIDE_REQUESTS: dict[str, str] = {
    "server/identity.py": "who asks is looked up before the route begins",
    "server/tencent/door.py": "whose signature it is, is looked up before anything else",
    "server/streams/hub.py": "reads for all streams, in threads of their own",
    "server/runs/export.py": "a stretch at a time, so that none is open while a reader waits",
    "server/streams/versions.py": "one look serves all who follow the same thing",
    "server/jobs/followed.py": "one look serves all who follow jobs",
    "server/runs/followed.py": "one look serves all who follow runs",
    "server/logs/tails.py": "one look serves all who follow a log",
    "server/logs/stored.py": "none is open while a reader waits",
    "server/main.py": "starts the server",
    "server/cleaner.py": "a thread of its own",
    "server/runs/ingestion.py": "a thread of its own",
    "server/notices/worker.py": "threads of its own",
    "server/alerts/watch.py": "part of those threads",
    "server/monitoring/collect.py": "Prometheus asks while it writes the answer",
    "server/runs/reconcile.py": "part of that thread",
}
"""Modules that are neither routes nor operations and open transactions, and why."""

NOT_YET: dict[str, int] = {}
"""Openings that break the rule still. This list only becomes shorter."""

SESSIONS_USED: dict[str, str] = {
    "scheduler/starting.py": "rollback",
    "scheduler/preempting.py": "rollback",
}
"""Calls on a session above the store: undoing what the store was asked for."""


def test_rules_never_open_a_transaction() -> None:
    """Outside of routes, operations and what works beside requests."""
    found = {
        file: number
        for file in files()
        if file.startswith(("server/", "auth/", "wire/"))
        and not _is_routes(file)
        and not file.endswith(OPERATIONS)
        and file not in BESIDE_REQUESTS
        and (number := _openings(tree_of(file)))
    }
    assert found == {file: number for file, number in NOT_YET.items() if not _is_routes(file)}


def test_a_route_opens_at_most_one_transaction() -> None:
    """And none when it calls an operation."""
    found = {file: len(told) for file in files() if _is_routes(file) and (told := _route_offences(file, tree_of(file)))}
    assert found == {file: number for file, number in NOT_YET.items() if _is_routes(file)}


def test_routes_ask_no_queries() -> None:
    found = {told for file in files() if _is_routes(file) for told in _queries(file, tree_of(file))}
    assert sorted(found) == []


def test_sessions_are_used_in_the_store_only() -> None:
    """Above it they are handed on: whoever calls a method of one speaks SQL."""
    found = {
        f"{file}: session.{name}"
        for file in files()
        if not file.startswith(("store/", "testing/"))
        for name in _session_calls(tree_of(file))
        if SESSIONS_USED.get(file) != name
    }
    assert sorted(found) == []


def test_every_exception_is_needed() -> None:
    known = set(files())
    assert [file for file in BESIDE_REQUESTS if file not in known or not _openings(tree_of(file))] == []
    assert [file for file, name in SESSIONS_USED.items() if name not in _session_calls(tree_of(file))] == []


def test_what_breaks_the_rule_is_named() -> None:
    two = ast.parse(
        "from danlu.server.jobs import operations, service\n"
        "@router.get('')\n"
        "def twice(state):\n"
        "    state.database.read(service.find)\n"
        "    return _more(state)\n"
        "@router.post('')\n"
        "def both(state):\n"
        "    operations.submit(state)\n"
        "    with state.database.reading() as session:\n"
        "        return session.get(1)\n"
        "@router.put('')\n"
        "async def one(state):\n"
        "    return await run_in_threadpool(state.database.read, service.find)\n"
        "def _more(state):\n"
        "    return state.database.write(service.change)\n"
    )
    assert _route_offences("server/x/routes.py", two) == [
        "server/x/routes.py: twice opens 2 transactions; move the work to operations.py",
        "server/x/routes.py: both opens 1 transaction beside an operation; move it there",
    ]
    assert _session_calls(two) == {"get"}
    assert _openings(two) == 4
    hidden = ast.parse(
        "def by_another_name(state, place: Database, s: Session):\n"
        "    db = state.database\n"
        "    db.read(find)\n"
        "    place.write(change)\n"
        "    s.execute(1)\n"
        "    with db.writing() as opened:\n"
        "        opened.flush()\n"
    )
    assert _openings(hidden) == 3
    assert _session_calls(hidden) == {"execute", "flush"}
    asks = ast.parse("from danlu.store.queries import jobs")
    assert list(_queries("server/x/routes.py", asks)) == ["server/x/routes.py: danlu.store.queries.jobs"]


def _is_routes(file: str) -> bool:
    return file.startswith("server/") and file.endswith(ROUTES)


def _openings(node: ast.AST) -> int:
    """How often a transaction is begun: `...database.read` and the like, called or handed on."""
    databases = _names_of(node, "database", "Database")
    return sum(1 for inner in ast.walk(node) if _is_opening(inner, databases))


def _is_opening(node: ast.AST, databases: set[str]) -> bool:
    if not isinstance(node, ast.Attribute) or node.attr not in OPENINGS:
        return False
    return _last_name(node.value) in databases


def _names_of(node: ast.AST, name: str, kind: str) -> set[str]:
    """Names under which something is known here: its own, arguments of its class, variables that it is given to."""
    found = {name}
    for inner in ast.walk(node):
        if isinstance(inner, ast.arg) and inner.annotation is not None and _last_name(inner.annotation) == kind:
            found.add(inner.arg.lstrip("_"))
        elif isinstance(inner, ast.Assign) and _last_name(inner.value) == name:
            found |= {_last_name(target) for target in inner.targets}
        elif isinstance(inner, ast.NamedExpr) and _last_name(inner.value) == name:
            found.add(_last_name(inner.target))
    return found


def _last_name(node: ast.expr) -> str:
    """`database` of `self._state._database`; empty for what has no name."""
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return name.lstrip("_")


def _route_offences(file: str, tree: ast.Module) -> list[str]:
    helpers = {node.name: node for node in tree.body if isinstance(node, FUNCTIONS)}
    operations = _operations(file, tree)
    told = []
    for name, function in functions_of(tree):
        if not any(_is_route_decorator(decorator) for decorator in function.decorator_list):
            continue
        reached = _reached(function, helpers)
        number = sum(_openings(one) for one in reached)
        if number > 1:
            told.append(f"{file}: {name} opens {number} transactions; move the work to operations.py")
        elif number and any(_names(one) & operations for one in reached):
            told.append(f"{file}: {name} opens 1 transaction beside an operation; move it there")
    return told


def _is_route_decorator(node: ast.expr) -> bool:
    called = node.func if isinstance(node, ast.Call) else node
    return (
        isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.value.id.endswith("router")
    )


def _reached(function: ast.AST, helpers: dict[str, ast.FunctionDef | ast.AsyncFunctionDef]) -> list[ast.AST]:
    """The function, and the functions of its module that it names, and those that they name."""
    found: dict[int, ast.AST] = {}
    waiting = [function]
    while waiting:
        node = waiting.pop()
        if id(node) not in found:
            found[id(node)] = node
            waiting += [helpers[name] for name in _names(node) if name in helpers]
    return list(found.values())


def _names(node: ast.AST) -> set[str]:
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def _operations(file: str, tree: ast.Module) -> set[str]:
    """Names under which this module knows operations: the module itself, or functions of it."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            for alias in node.names:
                if f"{node.module}.{alias.name}".endswith(".operations") or node.module.endswith(".operations"):
                    found.add(alias.asname or alias.name)
    return found


def _queries(file: str, tree: ast.Module) -> list[str]:
    return sorted({f"{file}: {found.name}" for found in imports_of(file, tree) if _is_query(found)})


def _is_query(found: Import) -> bool:
    return found.name.startswith(("danlu.store.queries.", "danlu.store.sql."))


def _session_calls(tree: ast.Module) -> set[str]:
    """Methods that are called on a session, whatever it is called here."""
    sessions = _names_of(tree, "session", "Session") | _opened(tree)
    return {
        node.func.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id.lstrip("_") in sessions
    }


def _opened(tree: ast.Module) -> set[str]:
    """Names that `with database.reading() as ...` gives."""
    databases = _names_of(tree, "database", "Database")
    items = (item for node in ast.walk(tree) if isinstance(node, ast.With) for item in node.items)
    return {
        item.optional_vars.id
        for item in items
        if isinstance(item.optional_vars, ast.Name)
        and isinstance(item.context_expr, ast.Call)
        and _is_opening(item.context_expr.func, databases)
    }
