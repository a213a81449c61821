"""What runs on a node runs in old training images: nothing but the standard library, nothing newer than Python 3.9."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import danlu

BESIDE = ("node", "journal", "content", "transfer")
WHERE_INSTALLED = {("cutting.py", "danlu_accel")}
"""Imported where it is there; the file has a form of its own in plain Python."""
SCRIPTS = sorted(path for name in BESIDE for path in (Path(danlu.__file__).parent / name).rglob("*.py"))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_only_the_standard_library_is_imported(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(), feature_version=(3, 9))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        for name in names:
            top, _, rest = name.partition(".")
            is_beside = top == "danlu" and rest.split(".")[0] in BESIDE
            assert is_beside or top in sys.stdlib_module_names or (path.name, name) in WHERE_INSTALLED, name


def test_python_3_9_understands_it() -> None:
    vermin = [
        sys.executable,
        "-c",
        "import vermin; vermin.main()",
        "-t=3.9-",
        "--no-tips",
        "--violations",
        "--eval-annotations",
    ]
    done = subprocess.run([*vermin, *map(str, SCRIPTS)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
