"""Read the two files that a tester fills in, unchanged: modelarts_config.py and config.sh."""

from __future__ import annotations

import runpy
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

PYTHON_CONFIG, SHELL_CONFIG = "modelarts_config.py", "config.sh"
FOLDERS = ("code/config", "config")
SHELL_LIMIT_SECONDS = 60.0


class Stubs(NamedTuple):
    folder: Path
    """The package: contains `code/`, `log/` and `result/`."""

    code: Path
    """The training code, with the boot file and ma-pre-start.sh."""

    access: Mapping[str, Any]
    session: Mapping[str, Any]
    version: str
    """V1 or V2."""

    is_single_server: bool


class InvalidConfig(Exception):
    """A file of the package cannot be used."""


class AttributeDict(dict[str, Any]):
    """Replacement for `easydict.EasyDict` if that is not installed."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


def read_stubs(folder: Path) -> Stubs:
    """Read both files. Raises InvalidConfig with the name of the file and the error."""
    config = next((folder / name for name in FOLDERS if (folder / name / PYTHON_CONFIG).is_file()), None)
    if config is None:
        raise InvalidConfig(f"no {' or '.join(f'{name}/{PYTHON_CONFIG}' for name in FOLDERS)} in {folder}")
    variables = read_shell(config / SHELL_CONFIG)
    version = variables.get("MODELARTS_VERSION") or "V1"
    if version not in ("V1", "V2"):
        raise InvalidConfig(f"{config / SHELL_CONFIG}: MODELARTS_VERSION: expected V1 or V2, got {version!r}")
    name = "session_config" if version == "V1" else "session_config_v2"
    found = read_python(config / PYTHON_CONFIG)
    for wanted in ("access_config", name):
        if not isinstance(found.get(wanted), Mapping):
            raise InvalidConfig(f"{config / PYTHON_CONFIG}: expected {wanted} = ed({{...}})")
    code = next(
        (one for one in (folder / "code" / "code", folder / "code") if (one / _boot(found[name])).is_file()), None
    )
    if code is None:
        raise InvalidConfig(
            f"the boot file {_boot(found[name])!r} is neither in {folder}/code/code nor in {folder}/code"
        )
    is_single = variables.get("SINGLESERVER_MODE") == "True"
    return Stubs(folder, code, found["access_config"], found[name], version, is_single)


def read_python(path: Path) -> dict[str, Any]:
    """Execute the file and return the names that it defines."""
    needs_easydict = "easydict" not in sys.modules and not _has_easydict()
    if needs_easydict:
        module = ModuleType("easydict")
        module.EasyDict = AttributeDict  # type: ignore[attr-defined]
        sys.modules["easydict"] = module
    try:
        return runpy.run_path(str(path))
    except Exception as error:
        raise InvalidConfig(f"{path}: {type(error).__name__}: {error}") from error
    finally:
        if needs_easydict:
            del sys.modules["easydict"]


def read_shell(path: Path) -> dict[str, str]:
    """Return the variables that config.sh exports under bash; empty if the file does not exist."""
    if not path.is_file():
        return {}
    script = 'set -a; . "$0" >/dev/null && env -0'
    # an empty environment: only variables of the file count
    words = ["env", "-i", "bash", "-c", script, str(path.resolve())]
    try:
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=SHELL_LIMIT_SECONDS
        )
    except subprocess.TimeoutExpired as error:
        raise InvalidConfig(f"{path}: it did not end within {SHELL_LIMIT_SECONDS:.0f} s") from error
    if done.returncode != 0:
        raise InvalidConfig(f"{path}: bash cannot read it: {done.stderr.decode(errors='replace').strip()}")
    rows = (row.partition("=") for row in done.stdout.decode(errors="replace").split("\0"))
    return {name: value for name, equals, value in rows if equals}


def _boot(session: Mapping[str, Any]) -> str:
    """Return the path of the boot file relative to the code folder."""
    code, boot = str(session.get("code_dir", "")), str(session.get("boot_file", ""))
    if not code or not boot.startswith(code.rstrip("/") + "/"):
        raise InvalidConfig(f"boot_file: expected a file below code_dir {code!r}, got {boot!r}")
    return boot[len(code.rstrip("/")) + 1 :]


def _has_easydict() -> bool:
    from importlib.util import find_spec

    return find_spec("easydict") is not None
