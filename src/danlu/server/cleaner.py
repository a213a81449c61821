"""Removes leftovers periodically while the server runs."""

from __future__ import annotations

import logging
import threading

from danlu.errors import DanluError
from danlu.store.upkeep.cleaning import find_leftovers
from danlu.store.upkeep.leftovers import Places

log = logging.getLogger(__name__)

FIRST_SECONDS, EVERY_SECONDS = 1800.0, 6 * 3600.0
DUTY = 2


def clean_now_and_then(places: Places, stopping: threading.Event) -> None:
    """Start the cleaner in a thread that ends with the server. Of several servers, one cleans at a time."""
    threading.Thread(target=_run, args=(places, stopping), name="cleaner", daemon=True).start()


def _run(places: Places, stopping: threading.Event) -> None:
    pause = FIRST_SECONDS
    while not stopping.wait(pause):
        pause = EVERY_SECONDS
        try:
            with places.database.duty(DUTY) as is_mine:
                if is_mine:
                    clean(places, stopping)
        except (DanluError, OSError) as error:
            log.warning("clean-up failed, retrying later: %s", error)


def clean(places: Places, stopping: threading.Event) -> int:
    """Remove all leftovers; return how many. Returns early when the server stops."""
    num_removed = num_bytes = 0
    for leftover in find_leftovers(places):
        if stopping.is_set():
            break
        leftover.remove()
        num_removed, num_bytes = num_removed + 1, num_bytes + leftover.size
    if num_removed:
        log.info("cleaned up %s things, %s bytes", num_removed, num_bytes)
    return num_removed
