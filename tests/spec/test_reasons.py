"""Every reason that the code gives is in the catalogue, and the catalogue says what to do."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from danlu.spec.reasons import CATALOGUE, reason

SOURCE = Path(__file__).parents[2] / "src" / "danlu"


def _codes_in_use() -> Iterator[tuple[str, str]]:
    """(file, code) for each reason("...") and each reason_code="..."."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call):
                continue
            name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            values = node.args[:1] if name == "reason" else []
            values += [keyword.value for keyword in node.keywords if keyword.arg in ("reason_code", "reason")]
            for value in values:
                if isinstance(value, ast.Constant) and isinstance(value.value, str) and value.value:
                    yield path.relative_to(SOURCE).as_posix(), value.value


def test_every_code_in_the_source_is_in_the_catalogue() -> None:
    found = list(_codes_in_use())
    assert len(found) > 10, "the search finds nothing any more"
    assert sorted({f"{file}: {code}" for file, code in found if code not in CATALOGUE}) == []


@pytest.mark.parametrize("code", sorted(CATALOGUE))
def test_every_entry_says_what_happened_and_what_to_do(code: str) -> None:
    entry = CATALOGUE[code]
    assert entry.cause.endswith(".")
    assert entry.remedy.endswith(".")
    assert code == code.lower()
    assert reason(code).message == entry.cause
    assert reason(code, "rank 3 fell over").message == "rank 3 fell over"


def test_what_a_user_did_on_purpose_is_never_retried() -> None:
    assert [code for code in ("stopped_by_user", "paused", "max_duration", "done") if CATALOGUE[code].is_retried] == []
