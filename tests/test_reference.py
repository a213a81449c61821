"""What is made from the source is made from this source."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from danlu.errors import all_errors
from danlu.spec.code import Code
from danlu.spec.job import ImageLogin, JobSpec, Resources, Retry, Role
from danlu.spec.reasons import CATALOGUE

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "docs" / "reference"


@pytest.mark.parametrize("script", ["make_openapi.py", "make_reference.py", "make_messages.py"])
def test_what_is_checked_in_is_current(script: str) -> None:
    command = [sys.executable, str(ROOT / "scripts" / script), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_reason_and_every_error_is_in_the_docs() -> None:
    reasons, errors = (REFERENCE / "reasons.md").read_text(), (REFERENCE / "errors.md").read_text()
    assert [code for code in CATALOGUE if f"`{code}`" not in reasons] == []
    assert [kind.__name__ for kind in all_errors() if f"`{kind.__name__}`" not in errors] == []


def test_every_field_of_a_job_is_in_the_docs_with_its_meaning() -> None:
    rows = [line.split(" | ") for line in (REFERENCE / "job.md").read_text().splitlines() if line.startswith("| `")]
    fields = [
        f"| `{name}`" for kind in (JobSpec, Resources, Role, Code, Retry, ImageLogin) for name in kind.model_fields
    ]
    assert [row[0] for row in rows] == fields
    assert [row[0] for row in rows if len(row) != 4 or len(row[3]) < 10] == []


def test_every_operation_says_what_it_answers_and_how_it_fails() -> None:
    described = json.loads((REFERENCE / "openapi.json").read_text())
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            codes = set(operation["responses"])
            assert "4XX" in codes, f"{method} {path}"
            assert "5XX" in codes, f"{method} {path}"
            assert [code for code in codes if code.startswith("2")], f"{method} {path}"
