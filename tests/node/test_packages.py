"""Which packages jobs can import, as the probe of the server sees it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from danlu.node.packages import folders_of, look, problem_with


def test_those_of_danlu_are_found_wherever_they_are_installed() -> None:
    found = look(["json", "no_such_package"])
    assert found["others"] == ["json"]
    assert {name for name, one in found["own"].items() if not one["problem"]} >= {"danlu", "t9k", "danlu_accel"}
    root = Path(__file__).parents[2]
    assert found["own"]["danlu"]["folders"] == [str(root / "src" / "danlu")]
    assert str(root / "accel" / "src" / "danlu_accel") in found["own"]["danlu_accel"]["folders"]


def test_what_is_not_there_has_no_folder() -> None:
    assert folders_of("no_such_package") == []
    assert folders_of("no_such_package.below") == []


@pytest.mark.skipif(os.geteuid() != 0, reason="needs to be root: jobs of others are the same user")
def test_what_other_users_cannot_read_is_named(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir(mode=0o755)
    assert problem_with(str(package)) == ""
    (package / "__init__.py").touch(mode=0o600)
    assert problem_with(str(package)) == f"{package}/__init__.py is not readable for other users"
    package.chmod(0o700)
    assert problem_with(str(package)) == f"{package} is closed to other users"
