"""The nodes of several engines as one list."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterable, Mapping

from danlu.engines.base import Engine
from danlu.errors import DanluError
from danlu.spec.nodes import NodeInfo

log = logging.getLogger(__name__)


def nodes_of(name: str, engine: Engine, *, others: Mapping[str, NodeInfo]) -> list[NodeInfo]:
    """The nodes of an engine, without machines that an earlier engine has: no device must be assigned twice."""
    found = [info if info.engine == name else info.model_copy(update={"engine": name}) for info in engine.nodes()]
    if not others:
        return found
    taken = {info.name for info in found if info.name in others}
    if not engine.is_remote and any(map(_is_here, {info.address for info in others.values()})):
        taken = {info.name for info in found}
    if taken:
        log.warning("engine %s does not use %s: another engine has this machine", name, ", ".join(sorted(taken)))
    return [info for info in found if info.name not in taken]


def keep_apart(engines: Mapping[str, Engine]) -> None:
    """Tell each engine the addresses of the other engines' machines, which its tasks must not reach.

    Called for a single engine too: it also blocks the addresses of its own machine, which may have changed.
    """
    addresses: dict[str, Iterable[str]] = {}
    for name, engine in engines.items():
        try:
            addresses[name] = engine.addresses() if len(engines) > 1 else ()
        except DanluError as error:
            log.warning("cannot list the machines of engine %s: %s", name, error)
            return  # the last addresses stay in force
    for name, engine in engines.items():
        try:
            engine.keep_away_from(sorted({one for other in engines if other != name for one in addresses[other]}))
        except OSError as error:  # such as a full disk
            log.warning("cannot say to engine %s which machines are others': %s", name, error)


def _is_here(address: str) -> bool:
    """Whether this machine has the address."""
    if not address:
        return False
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM) as tried:
        try:
            tried.bind((address, 0))
        except OSError:
            return False
    return True
