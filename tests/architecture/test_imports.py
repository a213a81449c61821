"""The picture of docs/architecture.md as a test: which folder may import which."""

from __future__ import annotations

from tests.support.source import Import, all_imports, files, folder_of

MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "preemption": set(),
    "inside": {"errors"},
    "spec": {"errors"},
    "wire": {"spec", "errors"},
    "launch": {"spec", "errors"},
    "journal": set(),
    "content": set(),
    "importing": {"journal"},
    "transfer": {"journal", "content"},
    "node": {"journal", "content", "transfer"},
    "engines": {"launch", "spec", "errors", "node"},
    "store": {"spec", "errors", "journal", "content"},
    "auth": {"spec", "errors", "store"},
    "scheduler": {"engines.base", "launch", "store", "auth", "spec", "errors"},
    "gateway": {"engines.base", "store", "auth", "spec", "errors", "wire"},
    "server": {"scheduler", "gateway", "wire", "launch", "auth", "store", "spec", "errors", "journal", "content"},
    "client": {"wire", "spec", "errors", "content", "transfer", "importing", "inside"},
    "track": {"client", "wire", "spec", "errors", "journal", "content", "transfer", "importing", "inside"},
    "bench": {"track", "client", "wire", "spec", "errors", "transfer"},
    "cli": {"bench", "track", "client", "wire", "spec", "errors", "content"},
    "testing": {"client", "wire", "engines", "launch", "node", "store", "spec", "errors", "content"},
    "__init__": {"client", "spec", "errors", "preemption", "inside"},
    "__main__": {"cli"},
}
"""Folder -> the other folders it may import. What is not listed may not be imported by anybody but itself."""

EXCEPTIONS: dict[str, set[str]] = {
    "server/main.py": {"engines"},  # the one place that wires an engine in
    "server/settings.py": {"engines.settings"},  # what an operator can set of engines is declared there, once
    "cli/server/up.py": {"server"},  # starts the server in this process; imported when it is used
    "cli/cluster/ranktable.py": {"launch.ranktable", "launch"},  # works on a file, without a server
    "server/webhooks/addresses.py": {"transfer.addresses"},  # which addresses are public is said once
    "testing/preloaded.py": {"cli"},  # stands in for the command line
    "cli/server/admin.py": {"server"},  # works on the stores themselves; imported when it is used
}


def test_imports_point_down() -> None:
    assert sorted({told for found in all_imports() if (told := _offence(found)) is not None}) == []


def test_an_import_that_points_up_is_named() -> None:
    up = Import("store/queries/jobs.py", "danlu.server.app.create_app", is_lazy=False)
    assert _offence(up) == "store/queries/jobs.py: store must not import server"
    concrete = Import("scheduler/loop.py", "danlu.engines.local.LocalEngine", is_lazy=False)
    assert _offence(concrete) == "scheduler/loop.py: scheduler must not import engines"


def test_every_exception_is_needed() -> None:
    used = {
        (found.file, name)
        for found in all_imports()
        for name in EXCEPTIONS.get(found.file, ())
        if found.name == f"danlu.{name}" or found.name.startswith(f"danlu.{name}.")
    }
    assert sorted({(file, name) for file, names in EXCEPTIONS.items() for name in names} - used) == []


def test_every_folder_has_its_place_in_the_picture() -> None:
    assert sorted({folder_of(file) for file in files()} - set(MAY_IMPORT)) == []


def test_the_command_line_loads_the_server_only_when_asked() -> None:
    eager = [
        f"{found.file}: imports {found.name} at its top; do it where it is used"
        for found in all_imports()
        if found.file.startswith("cli/") and found.name.startswith("danlu.server") and not found.is_lazy
    ]
    assert eager == []


def _offence(found: Import) -> str | None:
    parts = found.name.split(".")
    if parts[0] != "danlu":
        return None
    folder = folder_of(found.file)
    if len(parts) < 2 or parts[1] in (folder, "__version__"):
        return None
    allowed = MAY_IMPORT.get(folder, set()) | EXCEPTIONS.get(found.file, set())
    target = ".".join(parts[1:])
    if any(target == name or target.startswith(f"{name}.") for name in allowed):
        return None
    return f"{found.file}: {folder} must not import {parts[1]}"
