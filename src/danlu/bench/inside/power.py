"""Power of a node while its ranks work, from the energy counters of Intel and AMD (RAPL), if they are readable."""

from __future__ import annotations

import glob
import time
from typing import Optional

COUNTERS = "/sys/class/powercap/*-rapl:*/energy_uj"


class Meter:
    """Measures energy from entering to leaving the block: of whole CPU packages, including other jobs."""

    def __init__(self, *, is_read: bool, counters: str = COUNTERS) -> None:
        self._paths = sorted(path for path in glob.glob(counters) if path.count(":") == 1) if is_read else []
        self._watts: Optional[float] = None

    def __enter__(self) -> Meter:
        self._began, self._before = time.monotonic(), self._joules()
        return self

    def __exit__(self, *error: object) -> None:
        seconds, after = time.monotonic() - self._began, self._joules()
        if self._before is not None and after is not None and after >= self._before and seconds > 0:
            self._watts = (after - self._before) / seconds

    def average_watts(self) -> Optional[float]:
        """Average power; None if the counters are not readable, or one has overflowed."""
        return self._watts

    def _joules(self) -> Optional[float]:
        total = 0.0
        for path in self._paths:
            try:
                with open(path, encoding="ascii") as file:
                    total += int(file.read()) / 1e6
            except (OSError, ValueError):
                return None
        return total if self._paths else None
