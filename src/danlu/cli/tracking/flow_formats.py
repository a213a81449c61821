"""A data flow as text: an indented tree for people, DOT and Mermaid for tools that draw. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from danlu.cli.terminal import one_line, paint
from danlu.client.tracking.flow import Flow
from danlu.spec.flow import Direction
from danlu.wire.flow import FlowNode

_COLOURS = {"store": 36, "code": 37, "job": 34, "run": 35, "artifact": 33, "model": 31}
_STATE_COLOURS = {"succeeded": 32, "finished": 32, "failed": 31, "died": 31, "running": 36}
_DIM, _BOLD = 2, 1
_HIDDEN = "in a project that you are not a member of"


def to_tree(flow: Flow, direction: Direction) -> Iterator[str]:
    """Lines: the node that was asked for, upstream and downstream below it. A node is expanded once."""
    yield _node_text(flow.root, "", is_root=True)
    if direction is not Direction.BOTH:
        yield from _branch(flow, _children(flow, is_up=direction is Direction.UP), "")
        return
    trees = {side: _children(flow, is_up=side == "upstream") for side in ("upstream", "downstream")}
    trees = {side: children for side, children in trees.items() if children.get(flow.node)}
    for number, (side, children) in enumerate(trees.items(), start=1):
        is_last = number == len(trees)
        yield f"{_lines('└─ ' if is_last else '├─ ')}{paint(side, _BOLD)}"
        yield from _branch(flow, children, "   " if is_last else "│  ")


def to_dot(flow: Flow) -> str:
    """A graph in the language of Graphviz, from left to right."""
    numbers = {name: f"n{number}" for number, name in enumerate(flow.nodes)}
    lines = ["digraph flow {", "  rankdir=LR;", '  node [shape=box, style="rounded", fontname="sans-serif"];']
    for name, node in flow.nodes.items():
        style = ', style="rounded,dashed"' if node.deleted_at is not None or node.is_hidden else ""
        width = ", penwidth=2" if name == flow.node else ""
        lines.append(f"  {numbers[name]} [label={_dot_string(_label(node))}{style}{width}];")
    for edge in flow.edges:
        lines.append(f"  {numbers[edge.source]} -> {numbers[edge.target]} [label={_dot_string(str(edge.relation))}];")
    return "\n".join([*lines, "}"])


def to_mermaid(flow: Flow) -> str:
    """A flowchart in the language of Mermaid, which GitHub and GitLab draw in Markdown."""
    numbers = {name: f"n{number}" for number, name in enumerate(flow.nodes)}
    lines = ["flowchart LR"]
    lines += [f'  {numbers[name]}["{_mermaid_text(_label(node))}"]' for name, node in flow.nodes.items()]
    lines += [f"  {numbers[edge.source]} -->|{edge.relation}| {numbers[edge.target]}" for edge in flow.edges]
    gone = [numbers[name] for name, node in flow.nodes.items() if node.deleted_at is not None or node.is_hidden]
    if gone:
        lines += ["  classDef gone stroke-dasharray: 4 3", f"  class {','.join(gone)} gone"]
    lines.append(f"  style {numbers[flow.node]} stroke-width:3px")
    return "\n".join(lines)


def _children(flow: Flow, *, is_up: bool) -> dict[str, dict[str, str]]:
    """Node -> the next ones away from the root, with what relates them."""
    found: dict[str, dict[str, str]] = {}
    for edge in flow.edges:
        near, far = (edge.target, edge.source) if is_up else (edge.source, edge.target)
        found.setdefault(near, {})[far] = str(edge.relation)
    return found


def _branch(flow: Flow, children: dict[str, dict[str, str]], indent: str) -> Iterator[str]:
    """Lines below the root. Iterative: a flow may be deeper than Python's stack."""
    expanded = {flow.node}
    stack = [(_with_last(children.get(flow.node, {})), indent)]
    while stack:
        rest, indent = stack[-1]
        step = next(rest, None)
        if step is None:
            stack.pop()
            continue
        child, relation, is_last = step
        has_more = child in expanded and bool(children.get(child))
        text = _node_text(flow.nodes[child], relation) + (paint("  (shown above)", _DIM) if has_more else "")
        yield f"{_lines(indent + ('└─ ' if is_last else '├─ '))}{text}"
        if child not in expanded:
            expanded.add(child)
            stack.append((_with_last(children.get(child, {})), indent + ("   " if is_last else "│  ")))


def _with_last(children: dict[str, str]) -> Iterator[tuple[str, str, bool]]:
    for number, (child, relation) in enumerate(children.items(), start=1):
        yield child, relation, number == len(children)


def _node_text(node: FlowNode, relation: str, *, is_root: bool = False) -> str:
    """Kind, name, id, state and relation."""
    kind = str(node.kind)
    words = [paint(f"{kind:<8}", _DIM if node.is_hidden else _COLOURS[kind])]
    if node.is_hidden:
        words.append(paint(_HIDDEN, _DIM))
    else:
        words.append(paint(one_line(node.label or str(node.key)), *((_BOLD, 4) if is_root else (_BOLD,))))
    if node.key and kind in ("job", "run", "artifact", "model"):
        words.append(paint(one_line(node.key), _DIM))
    if node.deleted_at is not None:
        words.append(paint("deleted", 31))
    elif node.state is not None:
        words.append(paint(one_line(node.state), _STATE_COLOURS.get(node.state, 33)))
    return "  ".join([*words, paint(f"({relation})", _DIM)] if relation else words)


def _lines(text: str) -> str:
    return paint(text, _DIM)


def _label(node: FlowNode) -> list[str]:
    """What a box says."""
    if node.is_hidden:
        return [str(node.kind), _HIDDEN]
    state = "deleted" if node.deleted_at is not None else node.state
    head = f"{node.kind}, {state}" if state else str(node.kind)
    key = node.key if node.key and node.key != node.label else None
    return [head, node.label or str(node.key), *([key] if key and node.label else [])]


def _dot_string(text: str | list[str]) -> str:
    lines = [text] if isinstance(text, str) else text
    escaped = [one_line(line).replace("\\", "\\\\").replace('"', '\\"') for line in lines]
    return '"' + "\\n".join(escaped) + '"'


def _mermaid_text(lines: list[str]) -> str:
    """Everything that Mermaid or HTML would read as a sign, as a character reference of Mermaid."""
    shown = ("".join(char if _is_plain(char) else f"#{ord(char)};" for char in one_line(line)) for line in lines)
    return "<br/>".join(shown)


def _is_plain(char: str) -> bool:
    return char.isalnum() or char in " -_./:,()=+@"
