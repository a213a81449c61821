"""Processes of a node that cannot import installed packages cut with the compiled search too."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import danlu
from danlu.content.cutting import COMPILED, next_cut
from danlu.node.compiled_cutting import compiled_file

CUTS = """
import sys
sys.path.append(sys.argv[1])
from danlu.content import cutting
from danlu.node.compiled_cutting import load_compiled
load_compiled(sys.argv[2])
data = bytes(range(256)) * 20000
print(cutting.next_cut_here() is cutting.next_cut, cutting.next_cut_here()(data, 0, len(data)))
"""
DATA = bytes(range(256)) * 20000


def cut(file: str) -> list[str]:
    source = str(Path(danlu.__file__).parents[1])
    command = [sys.executable, "-I", "-S", "-c", CUTS, source, file]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def test_it_is_used_once_it_is_loaded() -> None:
    pytest.importorskip(COMPILED)  # danlu-accel may be installed without its compiled core
    file = compiled_file()
    assert file is not None
    assert cut(file) == ["False", str(next_cut(DATA, 0, len(DATA)))]


@pytest.mark.parametrize("content", [b"", b"no library"])
def test_a_file_that_is_no_module_is_passed_over(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "_cutting.so"
    file.write_bytes(content)
    assert cut(str(file)) == ["True", str(next_cut(DATA, 0, len(DATA)))]
    assert cut(str(tmp_path / "gone.so")) == ["True", str(next_cut(DATA, 0, len(DATA)))]


def test_an_older_one_does_not_say_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, COMPILED, sys)  # a module without FILE
    assert compiled_file() is None
    monkeypatch.setitem(sys.modules, COMPILED, None)
    assert compiled_file() is None
