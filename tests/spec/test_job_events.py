"""What happens to jobs has words of a fixed list, which the console and the documentation name."""

from __future__ import annotations

import ast

from tests.support.said import SOURCE

from danlu.spec.monitoring.job_events import JobEventKind
from danlu.spec.states import AttemptState

MAKERS = {"add_event", "_move"}


def test_every_event_of_the_source_is_of_the_list() -> None:
    told = {kind for path in SOURCE.rglob("*.py") for kind in _kinds(ast.parse(path.read_text()))}
    assert len(told) > 10
    assert told <= set(JobEventKind)
    assert set(AttemptState) <= set(JobEventKind)
    assert {"stop", "pause", "resume"} <= set(JobEventKind)


def _kinds(module: ast.Module) -> set[str]:
    calls = [node for node in ast.walk(module) if isinstance(node, ast.Call)]
    named = [call for call in calls if getattr(call.func, "id", getattr(call.func, "attr", "")) in MAKERS]
    words = [keyword.value for call in named for keyword in call.keywords if keyword.arg == "kind"]
    return {word.value for word in words if isinstance(word, ast.Constant) and isinstance(word.value, str)}
