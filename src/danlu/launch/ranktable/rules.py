"""Hardware rules: how many devices of a server can work together, and which ones."""

from __future__ import annotations

import re
from collections.abc import Sequence

from danlu.launch.ranktable.faults import Chip

COUNTS = (1, 2, 4, 8)
MOST_DEVICES = 16
"""Maximum on a server with newer chips."""

RING = 4
"""Devices per ring: on a 910, devices 0-3 and 4-7 are two rings."""

LARGEST_DEVICE_ID: dict[Chip | None, int] = {None: 15, Chip.ASCEND_910: 7, Chip.ASCEND_910B: 15}
_NEWER = re.compile(r"910(b|c|_)|310p")


def chip_of(model: str | None) -> Chip | None:
    """The chip of a device model; None if it is unknown."""
    name = (model or "").lower()
    if _NEWER.match(name):
        return Chip.ASCEND_910B
    return Chip.ASCEND_910 if name.startswith("910") else None


def counts_fault(count: int, chip: Chip | None) -> str | None:
    """What is wrong with this number of devices on a server; None if nothing. Newer chips allow any number up to 16."""
    if chip is Chip.ASCEND_910 and count not in COUNTS:
        return "expected 1, 2, 4 or 8 devices on each server"
    return None


def ring_fault(ids: Sequence[int], chip: Chip | None) -> str | None:
    """What is wrong with these devices of one server; None if nothing."""
    if chip is not Chip.ASCEND_910 or len(ids) not in (2, 4) or len({number // RING for number in ids}) == 1:
        return None
    return f"{len(ids)} devices must lie inside one ring of the chip, 0-3 or 4-7"


def choose(free: Sequence[int], count: int, chip: Chip | None) -> tuple[int, ...] | None:
    """The lowest free devices that can work together; None if there are none.

    For an unknown chip the rule of the rings applies, which is safe for all.
    """
    usable = sorted(number for number in free if number <= LARGEST_DEVICE_ID[chip])
    if 1 < count <= RING and chip is not Chip.ASCEND_910B:
        rings = ([number for number in usable if number // RING == ring] for ring in range(4))
        return next((tuple(ring[:count]) for ring in rings if len(ring) >= count), None)
    return tuple(usable[:count]) if len(usable) >= count else None
