"""A graph as lines of text: each node once, what it comes from above it, lanes at the left as commits have. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Optional

Targets = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Row:
    """A line: what is drawn at the left, and the node it is of; None for a line that only connects."""

    lanes: str
    node: Optional[str] = None
    again: tuple[str, ...] = ()
    """Nodes above that this one leads to: a circle."""


@dataclass
class _Lanes:
    """Each lane leads to a node that is still to come, and no two to the same one."""

    to: list[Optional[str]] = field(default_factory=list)

    def column(self, node: str) -> int:
        """The lane that leads to a node; a free one when none does."""
        return self.to.index(node) if node in self.to else self.free()

    def free(self) -> int:
        if None in self.to:
            return self.to.index(None)
        self.to.append(None)
        return len(self.to) - 1

    def trim(self) -> None:
        while self.to and self.to[-1] is None:
            self.to.pop()


def rows(nodes: Sequence[str], targets: Targets, marks: Mapping[str, str]) -> Iterator[Row]:
    """Lines from sources to what became of them. `marks` has the sign of each node."""
    lanes, above = _Lanes(), set[str]()
    ended = -1
    for node in _order(nodes, targets):
        above.add(node)
        is_first = node not in lanes.to
        column = lanes.column(node)
        if is_first and column == ended:  # or it would look as if it came from the one above
            yield Row(" ".join("│" if other is not None else " " for other in lanes.to).rstrip())
        lanes.to[column] = node
        signs = ["│" if other is not None else " " for other in lanes.to]
        signs[column] = marks[node]
        ahead = [target for target in dict.fromkeys(targets.get(node, ())) if target not in above]
        again = tuple(target for target in dict.fromkeys(targets.get(node, ())) if target in above)
        yield Row(" ".join(signs), node, again)
        yield from _connect(lanes, column, ahead)
        ended = -1 if ahead else column


def _connect(lanes: _Lanes, column: int, ahead: Sequence[str]) -> Iterator[Row]:
    """Lines that lead from a node's lane to those of its targets."""
    fresh = [target for target in ahead if target not in lanes.to]
    joined = [target for target in ahead if target in lanes.to]
    lanes.to[column] = fresh[0] if fresh else None
    for target in fresh[1:]:
        begin = lanes.free()
        yield Row(_line(lanes, column, begin, is_new=True, goes_on=True))
        lanes.to[begin] = target
    for number, target in enumerate(joined):
        goes_on = bool(fresh) or number < len(joined) - 1
        yield Row(_line(lanes, column, lanes.to.index(target), is_new=False, goes_on=goes_on))
    lanes.trim()


def _line(lanes: _Lanes, column: int, other: int, *, is_new: bool, goes_on: bool) -> str:
    """One line from the lane `column` to the lane `other`; lanes between them pass over it."""
    low, high = sorted((column, other))
    signs = []
    for place, node in enumerate(lanes.to):
        if place == column:
            sign = ("├" if goes_on else "╰") if other > column else ("┤" if goes_on else "╯")
        elif place == other:
            sign = ("╮" if is_new else "┤") if other > column else ("╭" if is_new else "├")
        elif node is not None:
            sign = "│"
        else:
            sign = "─" if low < place < high else " "
        signs.append(sign + ("─" if low <= place < high else " "))
    return "".join(signs).rstrip()


def _order(nodes: Sequence[str], targets: Targets) -> Iterator[str]:
    """Sources before what became of them, and what belongs together one after the other.

    In a circle no node comes first; then the first of `nodes` does.
    """
    waits_for = dict.fromkeys(nodes, 0)
    for node in nodes:
        for target in set(targets.get(node, ())):
            waits_for[target] += 1
    left = dict.fromkeys(nodes)
    ready = [node for node in reversed(nodes) if waits_for[node] == 0]
    while left:
        node = ready.pop() if ready else next(iter(left))
        if node not in left:
            continue
        del left[node]
        yield node
        for target in sorted(set(targets.get(node, ())), reverse=True):
            waits_for[target] -= 1
            if waits_for[target] == 0 and target in left:
                ready.append(target)
