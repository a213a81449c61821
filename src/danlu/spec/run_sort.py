"""What a list of runs is sorted by: `-val/acc`, `hparams.lr`, `name`, `created`."""

from __future__ import annotations

from typing import NamedTuple

from danlu.errors import InvalidInput
from danlu.spec.run_filter import VALUE_FIELDS

SORT_FIELDS = (
    *("name", "state", "folder", "project", "owner", "job", "step", "num_points"),
    *("created", "started", "ended"),
)
MAX_SORT_CHARS = 420


class RunSort(NamedTuple):
    field: str
    """One of SORT_FIELDS, or metrics.*, hparams.*, summary.*"""

    is_down: bool
    """The largest first."""

    @property
    def is_value(self) -> bool:
        return self.field not in SORT_FIELDS


def parse_sort(text: str) -> RunSort:
    """Raise InvalidInput."""
    key = text[1:] if text.startswith("-") else text
    field = key[: -len("_at")] if key in ("created_at", "started_at", "ended_at") else key
    kind, _, rest = field.partition(".")
    if field in SORT_FIELDS or (kind in VALUE_FIELDS and rest):
        return RunSort(field, text.startswith("-"))
    type_, slash, name = field.partition("/")
    if slash and name:
        return RunSort(".".join(filter(None, ("metrics", type_, name))), text.startswith("-"))
    problem = (
        f"expected TYPE/NAME of a metric, hparams.NAME, summary.NAME or one of {', '.join(SORT_FIELDS)}, "
        f"with - in front for the largest first; got {text!r}"
    )
    raise InvalidInput(f"sort: {problem}", fields={"sort": problem})
