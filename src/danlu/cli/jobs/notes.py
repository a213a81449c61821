"""Which remarks on nodes matter to a job: what it did not ask for, and does not use, is for `danlu nodes`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Callable

Matters = Callable[[Mapping[str, Any]], bool]


def _resources(spec: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    yield spec.get("resources") or {}
    for role in (spec.get("roles") or {}).values():
        yield role.get("resources") or {}


_WHEN: dict[str, Matters] = {
    "Jobs run as the user": lambda _: False,
    "System calls are not filtered": lambda _: False,
    "Processes are limited per": lambda _: False,
    "Memory limits are not enforced": lambda spec: any(one.get("memory") for one in _resources(spec)),
    "CPU shares are not enforced": lambda spec: any(one.get("cpus") for one in _resources(spec)),
    "No outgoing connections from a job's network": lambda spec: bool(spec.get("setup") or spec.get("requirements")),
    "No way out of a job's network": lambda spec: bool(spec.get("setup") or spec.get("requirements")),  # older servers
    "No network of their own": lambda spec: spec.get("nodes", 1) > 1 or bool(spec.get("endpoints")),
}
"""How a remark begins -> whether it matters. Others always do."""


def that_matter(notes: Iterable[str], spec: Mapping[str, Any]) -> list[str]:
    def matters(note: str) -> bool:
        return all(when(spec) for begin, when in _WHEN.items() if note.startswith(begin))

    return [note for note in notes if matters(note)]
