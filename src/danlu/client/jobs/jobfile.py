"""Read job files (YAML), and locate errors in them by line and column."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Optional

import yaml
from yaml.nodes import MappingNode, Node, SequenceNode

from danlu.errors import InvalidSpec


class _Loader(yaml.SafeLoader):
    """YAML 1.2: `on` is a string and `1e-3` is a number, which both matter in a job file."""

    yaml_implicit_resolvers: dict[str, Any] = {}


_PLAIN = (
    ("tag:yaml.org,2002:null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("tag:yaml.org,2002:bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("tag:yaml.org,2002:int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", list("-+0123456789")),
    (
        "tag:yaml.org,2002:float",
        r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        list("-+.0123456789"),
    ),
    ("tag:yaml.org,2002:merge", r"<<", ["<"]),
)
for _tag, _pattern, _first in _PLAIN:
    _Loader.add_implicit_resolver(_tag, re.compile(rf"^(?:{_pattern})$"), _first)


def _int(loader: _Loader, node: yaml.ScalarNode) -> int:
    text = str(loader.construct_scalar(node))
    return int(text, 0) if text[:2].lower() in ("0o", "0x") else int(text)


_Loader.add_constructor("tag:yaml.org,2002:int", _int)


class JobFile:
    """The values of a job file, and their positions."""

    def __init__(self, path: Path, values: dict[str, Any], root: Optional[Node]) -> None:
        self.path = path
        self.values = values
        self._root = root

    @property
    def folder(self) -> Path:
        """Folder that a relative code folder is relative to."""
        return self.path.parent

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Add the position in the file to every InvalidSpec that is raised in the block."""
        try:
            yield
        except InvalidSpec as error:
            if not error.fields:
                raise
            lines = [f"{self._place(field)}: {field}: {problem}" for field, problem in error.fields.items()]
            raise InvalidSpec("\n".join(lines), fields=error.fields) from error

    def _place(self, field: str) -> str:
        mark = _find(self._root, field)
        return f"{self.path}:{mark.line + 1}:{mark.column + 1}" if mark is not None else str(self.path)


def read_job_file(path: Path, settings: Sequence[str] = ()) -> JobFile:
    """Read a job file and apply settings of the form `some.field=value`.

    Raise InvalidSpec naming line and column when it is not YAML or not a mapping.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidSpec(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InvalidSpec(f"{path} is not a text file in UTF-8") from error
    job_file = parse_job_text(text, path)
    for setting in settings:
        job_file.values = set_value(job_file.values, setting)
    return job_file


def parse_job_text(text: str, path: Path) -> JobFile:
    try:
        root = yaml.compose(text, Loader=_Loader)
        _check_keys(root, path)
        values = yaml.load(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f":{mark.line + 1}:{mark.column + 1}" if mark is not None else ""
        raise InvalidSpec(f"{path}{place}: not valid YAML: {error.problem or error.context}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InvalidSpec(f"{path}: not valid YAML: {error}") from error
    if not isinstance(values, dict):
        what = "is empty" if values is None else f"holds a {type(values).__name__}"
        raise InvalidSpec(f"{path} {what}; a job file holds lines such as `name: mnist` and `command: python train.py`")
    return JobFile(path, values, root)


def parse_value(text: str) -> Any:
    """Parse one value as a job file would: `4` is a number, `true` a bool, `[1, 2]` a list, the rest text."""
    try:
        return yaml.load(text, Loader=_Loader)
    except (yaml.YAMLError, ValueError):
        return text


def set_value(values: Mapping[str, Any], setting: str) -> dict[str, Any]:
    """Return the values with `some.field=value` applied. Raise InvalidSpec when the setting does not have this form."""
    name, equals, text = setting.partition("=")
    parts = name.strip().split(".")
    if not equals or not all(parts):
        raise InvalidSpec(f"{setting!r} is not a setting; expected nodes=4 or hyperparameters.lr=0.1")
    return _set(values, parts, parse_value(text), setting)


def _set(values: Mapping[str, Any], parts: list[str], value: Any, setting: str) -> dict[str, Any]:
    name, *rest = parts
    if not rest:
        return {**values, name: value}
    inner = values.get(name) or {}
    if not isinstance(inner, Mapping):
        raise InvalidSpec(f"{setting!r}: {name} is {inner!r}, which has no fields of its own")
    return {**values, name: _set(inner, rest, value, setting)}


def _check_keys(node: Optional[Node], path: Path) -> None:
    """Reject duplicate keys: YAML readers silently keep the last one."""
    if isinstance(node, SequenceNode):
        for item in node.value:
            _check_keys(item, path)
    if not isinstance(node, MappingNode):
        return
    seen: dict[str, int] = {}
    for key, value in node.value:
        text = str(key.value)
        mark = key.start_mark
        if text in seen and text != "<<":
            raise InvalidSpec(
                f"{path}:{mark.line + 1}:{mark.column + 1}: duplicate field {text!r}, first in line {seen[text]}"
            )
        seen[text] = mark.line + 1
        _check_keys(value, path)


def _find(node: Optional[Node], field: str) -> Optional[yaml.Mark]:
    """Find a dotted field, or the nearest element around it."""
    if node is None:
        return None
    if isinstance(node, MappingNode):
        for key, value in node.value:
            name = str(key.value)
            if field == name:
                return _mark(key)
            # names may contain dots themselves (store paths do), so compare prefixes instead of splitting
            if field.startswith(name + "."):
                inner = _find(value, field[len(name) + 1 :]) if not isinstance(value, yaml.ScalarNode) else None
                return inner or _mark(key)
    if isinstance(node, SequenceNode):
        index, _, rest = field.partition(".")
        if index.isdigit() and int(index) < len(node.value):
            item = node.value[int(index)]
            return (_find(item, rest) if rest else None) or _mark(item)
    return _mark(node)


def _mark(node: Node) -> Optional[yaml.Mark]:
    mark = node.start_mark
    return mark if isinstance(mark, yaml.Mark) else None
