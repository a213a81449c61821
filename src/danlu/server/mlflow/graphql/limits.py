"""What a query may cost: its size before it runs, its look-ups, its answer and its time while it runs."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    InlineFragmentNode,
    OperationDefinitionNode,
    SelectionNode,
)

from danlu.errors import InvalidInput

MAX_TOKENS = 1500
MAX_FIELDS = 300
"""With fragments written out. Checking that fields of one name agree takes time with the square of this."""

MAX_DEPTH = 10
MAX_LOOKUPS = 20
MAX_SECONDS = 10.0
MAX_RUNS = 100
MAX_POINTS = 10_000
MAX_ANSWER_CHARS = 16 << 20
"""Names and values together. A text that many names ask for is in the answer once for each."""

FIELD_CHARS = 16
"""Counted for each field beside its name and text: quotes, brackets, or a number."""


class Exhausted(BaseException):
    """Ends the execution of a query. An `Exception` would be reported for one field, and the next would begin."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class Budget:
    """What is left of a query's look-ups, its answer and its time."""

    def __init__(self, seconds: float = MAX_SECONDS) -> None:
        self._lookups = MAX_LOOKUPS
        self._chars = MAX_ANSWER_CHARS
        self._seconds, self._ends_at = seconds, time.monotonic() + seconds

    def look_up(self) -> None:
        self._lookups -= 1
        if self._lookups < 0:
            raise InvalidInput(f"a query looks up at most {MAX_LOOKUPS} things; send several queries")

    def check_time(self) -> None:
        if time.monotonic() >= self._ends_at:
            raise Exhausted(f"the query took longer than {self._seconds:g} seconds; ask for less at once")

    def answer(self, name: str, value: Any) -> None:
        """Count a field of the answer. The fields of objects in it count for themselves."""
        texts = value if isinstance(value, list) else [value]
        self._chars -= len(name) + FIELD_CHARS + sum(len(text) for text in texts if isinstance(text, str))
        if self._chars < 0:
            raise Exhausted(
                f"expected an answer of at most {MAX_ANSWER_CHARS} characters, got more; ask for less at once"
            )


def check(document: DocumentNode) -> None:
    """Raise InvalidInput for a query that is too large, also once its fragments are written out."""
    operations = [one for one in document.definitions if isinstance(one, OperationDefinitionNode)]
    fragments = {one.name.value: one for one in document.definitions if isinstance(one, FragmentDefinitionNode)}
    if len(operations) != 1:
        raise InvalidInput(f"expected one operation, got {len(operations)}")
    _Size(fragments).check(operations[0].selection_set.selections)


class _Size:
    """Number of fields and depth of a query. Each fragment is measured once, however often it is named."""

    def __init__(self, fragments: dict[str, FragmentDefinitionNode]) -> None:
        self._fragments = fragments
        self._known: dict[str, tuple[int, int]] = {}
        self._open: set[str] = set()

    def check(self, selections: Iterable[SelectionNode]) -> None:
        num_fields, depth = self._of(selections, level=1)
        for name in self._fragments:  # those that nothing names are checked by the library as well
            num_fields = max(num_fields, self._of_fragment(name, level=1)[0])
        if num_fields > MAX_FIELDS:
            raise InvalidInput(f"expected at most {MAX_FIELDS} fields in a query, got {num_fields}")
        if depth > MAX_DEPTH:
            raise InvalidInput(f"expected at most {MAX_DEPTH} levels in a query, got {depth}")

    def _of(self, selections: Iterable[SelectionNode], *, level: int) -> tuple[int, int]:
        if level > 2 * MAX_DEPTH:
            raise InvalidInput(f"expected at most {MAX_DEPTH} levels in a query")
        num_fields = depth = 0
        for one in selections:
            more, deeper = self._of_one(one, level=level)
            num_fields, depth = num_fields + more, max(depth, deeper)
        return num_fields, depth

    def _of_one(self, one: SelectionNode, *, level: int) -> tuple[int, int]:
        if isinstance(one, FragmentSpreadNode):
            return self._of_fragment(one.name.value, level=level)
        if isinstance(one, InlineFragmentNode):
            return self._of(one.selection_set.selections, level=level + 1)
        assert isinstance(one, FieldNode)
        if one.name.value.startswith("__") and one.name.value != "__typename":
            raise InvalidInput(f"the schema cannot be queried: {one.name.value[:40]}")
        if one.selection_set is None:
            return 1, 1
        num_fields, depth = self._of(one.selection_set.selections, level=level + 1)
        return num_fields + 1, depth + 1

    def _of_fragment(self, name: str, *, level: int) -> tuple[int, int]:
        if name in self._open:
            raise InvalidInput(f"the fragment {name[:40]} contains itself")
        if name not in self._fragments:
            return 0, 0  # the library reports it
        if name not in self._known:
            self._open.add(name)
            self._known[name] = self._of(self._fragments[name].selection_set.selections, level=level + 1)
            self._open.remove(name)
        return self._known[name]
