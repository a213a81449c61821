"""The picture of docs/architecture.md as a test: who may import whom, and who may name which library."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "danlu"
MAX_LINES = 450

MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "preemption": set(),
    "spec": {"errors"},
    "wire": {"spec", "errors"},
    "launch": {"spec", "errors"},
    "journal": set(),
    "content": set(),
    "transfer": {"journal", "content"},
    "node": {"journal", "content", "transfer"},
    "engines": {"launch", "spec", "errors", "node"},
    "store": {"spec", "errors", "journal", "content"},
    "auth": {"spec", "errors", "store"},
    "scheduler": {"engines.base", "launch", "store", "auth", "spec", "errors"},
    "gateway": {"engines.base", "store", "auth", "spec", "errors", "wire"},
    "server": {"scheduler", "gateway", "wire", "launch", "auth", "store", "spec", "errors", "journal", "content"},
    "client": {"wire", "spec", "errors", "content", "transfer"},
    "track": {"client", "wire", "spec", "errors", "journal", "content", "transfer"},
    "bench": {"track", "client", "wire", "spec", "errors"},
    "cli": {"bench", "track", "client", "wire", "spec", "errors", "content"},
    "testing": {"client", "wire", "engines", "launch", "store", "spec", "errors", "content"},
    "__init__": {"client", "spec", "errors", "preemption"},
    "__main__": {"cli"},
}
"""Folder -> the other folders it may import. What is not listed may not be imported by anybody but itself."""

EXCEPTIONS: dict[str, set[str]] = {
    "server/main.py": {"engines"},  # the one place that wires an engine in
    "cli/server/up.py": {"server"},  # starts the server in this process; imported when it is used
    "cli/cluster/ranktable.py": {"launch.ranktable", "launch"},  # works on a file, without a server
    "cli/server/admin.py": {"server"},  # works on the stores themselves; imported when it is used
    "cli/server/doctor.py": {"server", "store", "engines", "node"},  # looks at what a server here would find
}

LIBRARY_HOMES: dict[str, tuple[str, ...]] = {
    "alembic": ("store/",),
    "argon2": ("auth/",),
    "cryptography": ("auth/",),
    "fastapi": ("server/",),
    "joserfc": ("server/oidc/",),
    "httpx": ("client/", "gateway/", "server/webhooks/", "server/oidc/"),
    "numpy": ("store/metrics/", "server/runs/"),
    "pyarrow": ("server/runs/",),
    "obstore": ("store/",),
    "psycopg": ("store/", "testing/"),
    "pydantic_settings": ("server/settings.py",),
    "ray": ("engines/ray/",),
    "rich": ("cli/",),
    "sqlalchemy": ("store/",),
    "starlette": ("server/",),
    "torch": (),
    "typer": ("cli/",),
    "uvicorn": ("server/main.py",),
    "yaml": ("client/", "cli/", "server/examples/"),
}
"""Library -> where it may be named."""

SQL_NAMES_ABOVE_STORE = {"sqlalchemy.orm.Session", "sqlalchemy.exc.IntegrityError"}
"""Sessions are handed from the caller that owns the transaction to the store; statements stay in the store."""


class Import(NamedTuple):
    file: str
    """Below src/danlu."""

    name: str
    """Dotted, down to the imported name."""

    is_lazy: bool


def _files() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def _imports() -> Iterator[Import]:
    for path in _files():
        file = path.relative_to(SOURCE).as_posix()
        tree = ast.parse(path.read_text())
        lazy = {
            id(inner)
            for node in ast.walk(tree)
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
            for inner in ast.walk(node)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield Import(file, alias.name, id(node) in lazy)
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{file}: relative imports hide where things come from"
                for alias in node.names:
                    yield Import(file, f"{node.module}.{alias.name}", id(node) in lazy)


def _folder(file: str) -> str:
    return file.split("/", maxsplit=1)[0].removesuffix(".py")


def _offence(found: Import) -> str | None:
    parts = found.name.split(".")
    if parts[0] != "danlu":
        return None
    folder = _folder(found.file)
    if len(parts) < 2 or parts[1] in (folder, "__version__"):
        return None
    allowed = MAY_IMPORT.get(folder, set()) | EXCEPTIONS.get(found.file, set())
    target = ".".join(parts[1:])
    if any(target == name or target.startswith(f"{name}.") for name in allowed):
        return None
    return f"{found.file}: {folder} must not import {parts[1]}"


def test_imports_point_down() -> None:
    assert sorted({told for found in _imports() if (told := _offence(found)) is not None}) == []


def test_an_import_that_points_up_would_be_named() -> None:
    up = Import("store/queries/jobs.py", "danlu.server.app.create_app", is_lazy=False)
    assert _offence(up) == "store/queries/jobs.py: store must not import server"
    concrete = Import("scheduler/loop.py", "danlu.engines.local.LocalEngine", is_lazy=False)
    assert _offence(concrete) == "scheduler/loop.py: scheduler must not import engines"


def test_every_folder_has_its_place_in_the_picture() -> None:
    folders = {_folder(path.relative_to(SOURCE).as_posix()) for path in _files()}
    assert sorted(folders - set(MAY_IMPORT)) == []


def test_the_command_line_loads_the_server_only_when_asked() -> None:
    eager = [
        f"{found.file}: imports {found.name} at its top; do it where it is used"
        for found in _imports()
        if found.file.startswith("cli/") and found.name.startswith("danlu.server") and not found.is_lazy
    ]
    assert eager == []


def test_libraries_are_named_by_their_owners_only() -> None:
    offenders = set()
    for found in _imports():
        library = found.name.split(".")[0]
        if found.name in SQL_NAMES_ABOVE_STORE and _folder(found.file) in ("server", "scheduler"):
            continue
        if library in LIBRARY_HOMES and not found.file.startswith(LIBRARY_HOMES[library]):
            offenders.add(f"{found.file}: {_folder(found.file)} must not name {library} ({found.name})")
    assert sorted(offenders) == []


def test_what_runs_on_nodes_needs_the_standard_library_only() -> None:
    foreign = {
        f"{found.file}: {_folder(found.file)} must not need {found.name.split('.')[0]}"
        for found in _imports()
        if found.file.startswith(("node/", "journal/", "content/", "transfer/"))
        and found.name.split(".")[0] not in {*sys.stdlib_module_names, "danlu"}
    }
    assert sorted(foreign) == []


def test_no_routes_in_services_and_no_statements_in_routes() -> None:
    offenders = {
        f"{found.file}: a service knows no HTTP"
        for found in _imports()
        if found.file.endswith("/service.py") and found.name.split(".")[0] in ("fastapi", "starlette")
    }
    assert sorted(offenders) == []


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("import danlu", ("pydantic", "httpx", "fastapi", "sqlalchemy", "torch", "ray", "typer", "rich")),
        (
            "import danlu.client",
            ("fastapi", "sqlalchemy", "alembic", "uvicorn", "torch", "ray", "cryptography", "typer"),
        ),
        ("import danlu.spec.job", ("httpx", "fastapi", "sqlalchemy", "torch")),
        ("import danlu.cli", ("fastapi", "sqlalchemy", "uvicorn", "torch", "ray")),
        (
            "import danlu.track",
            ("pydantic", "httpx", "yaml", "torch", "numpy", "danlu.client", "danlu.spec", "danlu.errors"),
        ),
        (
            "import danlu.node.supervise.shim, danlu.node.stage.stager",
            ("pydantic", "httpx", "danlu.spec", "danlu.errors"),
        ),
    ],
)
def test_importing_stays_light(statement: str, absent: tuple[str, ...]) -> None:
    script = f"import sys; {statement}; print(*sorted(sys.modules), sep='\\n')"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert [name for name in absent if name in loaded] == []


@pytest.mark.parametrize(
    ("folders", "options"),
    [
        (("spec", "wire", "errors.py"), ["--eval-annotations"]),  # pydantic reads annotations at run time
        (("client", "content", "journal", "node", "transfer", "track", "preemption.py"), []),
    ],
)
def test_what_runs_in_training_images_keeps_to_python_39(folders: tuple[str, ...], options: list[str]) -> None:
    vermin = Path(sys.executable).with_name("vermin")
    places = [str(SOURCE / name) for name in folders if (SOURCE / name).exists()]
    command = [str(vermin), "-t=3.9-", "--violations", "--no-tips", *options, *places]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_files_are_short_enough_to_read() -> None:
    long = {path.relative_to(SOURCE).as_posix(): len(path.read_text().splitlines()) for path in _files()}
    assert {file: lines for file, lines in long.items() if lines > MAX_LINES} == {}
