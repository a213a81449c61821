"""A cache of the nodes for submissions: there may be thousands, and they rarely change."""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy.orm import Session

from danlu.scheduler.policy.cluster import kind_of
from danlu.spec.nodes import NodeInfo
from danlu.store.queries import nodes


class KnownNodes:
    """Parses each report once. Never stale: each call asks the database whether the nodes changed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._mark: str | None = None
        self._parsed: dict[str, tuple[dict[str, Any], NodeInfo]] = {}
        self._kinds: dict[object, list[NodeInfo]] = {}
        self._answering: list[NodeInfo] = []
        self._devices: set[tuple[str, str | None]] = set()

    def all(self, session: Session) -> list[NodeInfo]:
        """The online nodes."""
        with self._lock:
            self._refresh(session)
            return list(self._answering)

    def devices(self, session: Session) -> set[tuple[str, str | None]]:
        """Type and model of the devices of all nodes, including offline ones."""
        with self._lock:
            self._refresh(session)
            return set(self._devices)

    def some(self, session: Session, num_tasks: int, *, drained: Collection[str] = ()) -> list[NodeInfo]:
        """Enough nodes of each kind for a job of this many tasks; if some are drained, as many drained ones as well."""
        with self._lock:
            self._refresh(session)
            kinds = list(self._kinds.values())
        return [
            info
            for alike in kinds
            for is_drained in ((False, True) if drained else (False,))
            for info in _first(alike, num_tasks, drained, is_drained=is_drained)
        ]

    def _refresh(self, session: Session) -> None:
        mark = nodes.mark(session)
        if mark == self._mark:
            return
        before, self._parsed, self._kinds, self._mark = self._parsed, {}, {}, mark
        self._answering, self._devices = [], set()
        for name, told, is_reachable in nodes.reports(session):
            known = before.get(name)
            info = known[1] if known is not None and known[0] == told else NodeInfo.model_validate(told)
            self._parsed[name] = told, info
            self._devices.update((device.type, device.model) for device in info.devices)
            if not is_reachable:
                continue
            self._answering.append(info)
            apart = (info.has_sandbox, info.has_own_network, info.joins_networks, info.image_tool, info.missing)
            self._kinds.setdefault((kind_of(info), apart), []).append(info)


def _first(alike: Sequence[NodeInfo], count: int, drained: Collection[str], *, is_drained: bool) -> list[NodeInfo]:
    found: list[NodeInfo] = []
    for info in alike:
        if len(found) == count:
            break
        if (info.name in drained) is is_drained:
            found.append(info)
    return found
