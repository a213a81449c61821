"""Who may name which library."""

from __future__ import annotations

import sys

from tests.support.source import Import, all_imports, folder_of

LIBRARY_HOMES: dict[str, tuple[str, ...]] = {
    "alembic": ("store/sql/",),
    "argon2": ("auth/",),
    "asyncssh": ("gateway/ssh/",),
    "botocore": ("store/objects/",),
    "cryptography": ("auth/",),
    "danlu_accel": ("content/cutting.py",),  # where it is installed: the same places, found faster
    "fastapi": ("server/",),
    "graphql": ("server/mlflow/graphql/",),
    "h11": ("gateway/proxy/", "server/protocol.py"),
    "joserfc": ("server/oidc/",),
    "httpx": ("client/", "server/oidc/", "server/webhooks/sending.py"),
    "numpy": ("store/metrics/", "store/objects/direct.py", "server/runs/"),
    "pyarrow": ("server/runs/export.py",),
    "obstore": ("store/objects/",),
    "opentelemetry": ("server/monitoring/traces.py",),
    "prometheus_client": ("server/monitoring/",),
    "psycopg": ("store/", "testing/"),
    "pydantic_settings": ("server/settings.py",),
    "ray": ("engines/ray/",),
    "rich": ("cli/",),
    "sqlalchemy": ("store/",),
    "starlette": ("server/",),
    "torch": ("bench/inside/work/",),
    "typer": ("cli/",),
    "uvicorn": ("server/main.py", "server/protocol.py"),
    "yaml": ("client/", "cli/", "server/examples/", "engines/local/drivers.py"),
}
"""Library -> where it may be named."""

CONNECTION_HOMES: dict[str, tuple[str, ...]] = {
    # inputs from addresses that users name: to the address that was looked at, and never with a token
    "http.client": ("transfer/http_carrier.py", "node/stage/elsewhere.py"),
    "urllib.request": ("client/carrier.py",),  # asked which proxies the system names
}
"""Modules of Python's own that open HTTP connections. Requests go through one of the two carriers and the one policy of
trying again, so that no second way for bytes comes up."""

SQL_NAMES_ABOVE_STORE = {"sqlalchemy.orm.Session", "sqlalchemy.exc.IntegrityError"}
"""Sessions are handed from the caller that owns the transaction to the store; statements stay in the store."""

STANDARD_LIBRARY_ONLY = ("node/", "journal/", "content/", "transfer/", "importing/", "bench/inside/")
KNOWS_HTTP = ("/routes.py", "_routes.py", "/pages.py", "/changes.py", "/route.py", "/wanted.py")
"""Modules of a noun that speak HTTP: routes, pages, streams, and what routes depend on. Every other one is rules."""

SPEAKS_HTTP = (
    "server/streams/",
    "server/bodies/",
    "server/admission/middleware.py",
    "server/monitoring/middleware.py",
    "server/tencent/",
    "server/mlflow/door.py",
    "server/mlflow/failures.py",
)
"""No noun: how answers that go on are made, how bodies are taken, and a protocol that another API is spoken in."""


def test_libraries_are_named_by_their_owners_only() -> None:
    assert sorted({told for found in all_imports() if (told := _offence(found)) is not None}) == []


def test_a_statement_above_the_store_is_named() -> None:
    assert _offence(Import("server/jobs/service.py", "sqlalchemy.orm.Session", is_lazy=False)) is None
    told = _offence(Import("server/jobs/service.py", "sqlalchemy.select", is_lazy=False))
    assert told == "server/jobs/service.py: server must not name sqlalchemy (sqlalchemy.select)"


def test_http_connections_are_opened_by_the_carriers_only() -> None:
    assert _offence(Import("node/stage/send.py", "urllib.request.urlopen", is_lazy=True)) == (
        "node/stage/send.py: node must not name urllib.request (urllib.request.urlopen)"
    )
    assert _offence(Import("track/sync/companion.py", "http.client", is_lazy=False)) == (
        "track/sync/companion.py: track must not name http.client (http.client)"
    )
    assert _offence(Import("transfer/http_carrier.py", "http.client", is_lazy=False)) is None


def test_what_runs_on_nodes_needs_the_standard_library_only() -> None:
    foreign = {
        f"{found.file}: {folder_of(found.file)} must not need {found.name.split('.')[0]}"
        for found in all_imports()
        if found.file.startswith(STANDARD_LIBRARY_ONLY)
        and found.name.split(".")[0] not in {*sys.stdlib_module_names, "danlu"}
        and not found.file.startswith(LIBRARY_HOMES.get(found.name.split(".")[0], "-"))
    }
    assert sorted(foreign) == []


def test_rules_know_no_http() -> None:
    """Of the folders of nouns, only the modules that speak HTTP name the libraries for it."""
    offenders = {
        f"{found.file}: rules know no HTTP ({found.name})"
        for found in all_imports()
        if found.file.startswith("server/")
        and found.file.count("/") == 2
        and not found.file.endswith(KNOWS_HTTP)
        and not found.file.startswith(SPEAKS_HTTP)
        and found.name.split(".")[0] in ("fastapi", "starlette")
    }
    assert sorted(offenders) == []


def _offence(found: Import) -> str | None:
    library = found.name.split(".")[0]
    if found.name in SQL_NAMES_ABOVE_STORE and folder_of(found.file) in ("server", "scheduler"):
        return None
    if library in LIBRARY_HOMES and not found.file.startswith(LIBRARY_HOMES[library]):
        return f"{found.file}: {folder_of(found.file)} must not name {library} ({found.name})"
    for module, homes in CONNECTION_HOMES.items():
        if f"{found.name}.".startswith(f"{module}.") and not found.file.startswith(homes):
            return f"{found.file}: {folder_of(found.file)} must not name {module} ({found.name})"
    return None
