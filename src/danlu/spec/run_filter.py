"""Filter language for runs: `metrics.val.acc > 0.9 and hparams.lr < 0.01`.

    filter      either ("or" either)*
    either      one ("and" one)*
    one         "not" one | "(" filter ")" | comparison
    comparison  operand ("=" "==" "!=" "<" "<=" ">" ">=" "~") value | operand ["not"] "in" "(" value ("," value)* ")"
    operand     field | ("min" | "max" | "last") "(" field ")"
    field       words separated by dots; other characters than these in backquotes
    value       number | "text" | 'text' | word | inf | -inf | nan

`~` is "contains". Without a function a metric means its last value.
Lists are sorted by `-val/acc`, `hparams.lr`, `name`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple, NoReturn, Optional, Union

from danlu.errors import InvalidInput

MAX_CHARS = 4000
MAX_DEPTH = 50
OWN_FIELDS = (
    "name", "id", "state", "folder", "owner", "job", "attempt", "label", "description", "group", "parent",
    "step", "epoch", "created", "started", "ended",
)  # fmt: skip
VALUE_FIELDS = ("metrics", "hparams", "summary")
SORT_FIELDS = (
    *("name", "state", "folder", "project", "owner", "job", "step", "num_points"),
    *("created", "started", "ended"),
)
MAX_SORT_CHARS = 420
_FUNCTIONS = ("min", "max", "last")
_KEYWORDS = ("and", "or", "not", "in")
_TOKEN = re.compile(
    r"""\s*(?:
      (?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.]))
    | (?P<odd>[+-](?:inf|infinity)(?![\w.]))
    | (?P<field>(?:[^\W\d]|`[^`]+`)(?:[\w/:%@+\-]|`[^`]+`)*(?:\.(?:[\w/:%@+\-]+|`[^`]+`))*)
    | (?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    | (?P<sign><=|>=|==|!=|=|<|>|~|\(|\)|,)
    )""",
    re.VERBOSE | re.IGNORECASE,
)

Value = Union[float, str, bool]


@dataclass(frozen=True)
class Comparison:
    field: str
    """One of OWN_FIELDS, or metrics.*, hparams.*, summary.*"""

    of: str
    """Aggregate of a metric: last, min or max."""

    sign: str
    """= != < <= > >= ~ in"""

    values: tuple[Value, ...]
    at: int
    """Position of the first value in the text."""


@dataclass(frozen=True)
class Not:
    part: Condition


@dataclass(frozen=True)
class AllOf:
    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class AnyOf:
    parts: tuple[Condition, ...]


Condition = Union[Comparison, Not, AllOf, AnyOf]


def parse_filter(text: str) -> Condition:
    """Parse a filter. Raise InvalidInput that says where it is wrong, and what is expected there."""
    if len(text) > MAX_CHARS:
        _wrong(text, MAX_CHARS, f"the filter is longer than {MAX_CHARS} characters")
    parser = _Parser(text, _tokens(text))
    found = parser.filter(0)
    parser.end()
    return found


def value_fields(part: Condition) -> list[str]:
    """The metrics, hyperparameters and summary values that a filter names."""
    if isinstance(part, (AllOf, AnyOf)):
        return [name for inner in part.parts for name in value_fields(inner)]
    if isinstance(part, Not):
        return value_fields(part.part)
    return [part.field] if part.field.partition(".")[0] in VALUE_FIELDS else []


def wrong_filter(text: str, at: int, problem: str) -> InvalidInput:
    """The error for a position in a filter, with a mark below it."""
    told = f"{problem}, at character {at + 1}:\n  {text}\n  {' ' * at}^"
    return InvalidInput(f"filter: {told}", fields={"filter": problem})


class _Token(NamedTuple):
    kind: str
    text: str
    at: int


def _wrong(text: str, at: int, problem: str) -> NoReturn:
    raise wrong_filter(text, at, problem)


def _tokens(text: str) -> list[_Token]:
    found, at = [], 0
    end = len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            begin = at + len(text[at:]) - len(text[at:].lstrip())
            _wrong(text, begin, f"{text[begin : begin + 10]!r} is not valid here; put texts in quotes")
        found.append(_Token(match.lastgroup, match.group(match.lastgroup), match.start(match.lastgroup)))
        at = match.end()
    return found


class _Parser:
    def __init__(self, text: str, tokens: list[_Token]) -> None:
        self._text = text
        self._tokens = tokens
        self._next = 0

    def filter(self, depth: int) -> Condition:
        if depth > MAX_DEPTH:
            self._fail(f"more than {MAX_DEPTH} nested parentheses")
        parts = [self._either(depth)]
        while self._take_word("or"):
            parts.append(self._either(depth))
        return parts[0] if len(parts) == 1 else AnyOf(tuple(parts))

    def end(self) -> None:
        if self._peek() is not None:
            self._fail("expected `and` or `or` here")

    def _either(self, depth: int) -> Condition:
        parts = [self._one(depth)]
        while self._take_word("and"):
            parts.append(self._one(depth))
        return parts[0] if len(parts) == 1 else AllOf(tuple(parts))

    def _one(self, depth: int) -> Condition:
        if depth > MAX_DEPTH:
            self._fail(f"more than {MAX_DEPTH} nested `not`")
        if self._take_word("not"):
            return Not(self._one(depth + 1))
        if self._take_sign("("):
            inner = self.filter(depth + 1)
            self._need(")")
            return inner
        return self._comparison()

    def _comparison(self) -> Condition:
        field, of = self._operand()
        if self._take_word("not"):
            if not self._take_word("in"):
                self._fail("expected `in` after `not` here")
            return Not(self._list(field, of))
        if self._take_word("in"):
            return self._list(field, of)
        token = self._peek()
        if token is None or token.kind != "sign" or token.text in "(),":
            self._fail("expected one of = != < <= > >= ~ in here")
        self._next += 1
        value, at = self._value()
        sign = "=" if token.text == "==" else token.text
        if sign == "~" and not isinstance(value, str):
            _wrong(self._text, at, "~ means `contains` and needs a text in quotes")
        return Comparison(field, of, sign, (value,), at)

    def _list(self, field: str, of: str) -> Comparison:
        self._need("(")
        first, at = self._value()
        values = [first]
        while self._take_sign(","):
            values.append(self._value()[0])
        self._need(")")
        return Comparison(field, of, "in", tuple(values), at)

    def _operand(self) -> tuple[str, str]:
        token = self._peek()
        if token is None or token.kind != "field" or token.text in _KEYWORDS:
            self._fail("expected a field here, such as metrics.val.acc, hparams.lr or name")
        self._next += 1
        if token.text in _FUNCTIONS and self._take_sign("("):
            inner = self._peek()
            field = self._operand()[0]
            if inner is not None and not field.startswith("metrics."):
                _wrong(self._text, inner.at, f"{token.text}(...) needs a metric such as metrics.val.acc")
            self._need(")")
            return field, token.text
        return self._field(token), "last"

    def _field(self, token: _Token) -> str:
        field = token.text.replace("`", "")
        head, dot, rest = field.partition(".")
        if (head in VALUE_FIELDS and rest) or (head in OWN_FIELDS and not dot):
            return field
        known = f"{', '.join(f'{name}.*' for name in VALUE_FIELDS)}, {', '.join(OWN_FIELDS)}"
        _wrong(self._text, token.at, f"no field {field!r}; known: {known}")

    def _value(self) -> tuple[Value, int]:
        token = self._peek()
        if token is None or token.kind == "sign" or token.text in _KEYWORDS:
            self._fail("expected a number, or a text in quotes here")
        self._next += 1
        if token.kind == "number":
            return float(token.text), token.at
        if token.kind == "text":
            return re.sub(r"\\(.)", r"\1", token.text[1:-1]), token.at
        return ({"true": True, "false": False}.get(token.text, token.text), token.at)

    def _peek(self) -> Optional[_Token]:
        return self._tokens[self._next] if self._next < len(self._tokens) else None

    def _take_word(self, word: str) -> bool:
        token = self._peek()
        if token is None or token.kind != "field" or token.text.lower() != word:
            return False
        self._next += 1
        return True

    def _take_sign(self, sign: str) -> bool:
        token = self._peek()
        if token is None or token.kind != "sign" or token.text != sign:
            return False
        self._next += 1
        return True

    def _need(self, sign: str) -> None:
        if not self._take_sign(sign):
            self._fail(f"expected {sign} here")

    def _fail(self, problem: str) -> NoReturn:
        token = self._peek()
        _wrong(self._text, len(self._text.rstrip()) if token is None else token.at, problem)


def odd_number(value: Value) -> Optional[float]:
    """NaN or infinity if a word means that; None for other values."""
    if not isinstance(value, str) or not re.fullmatch(r"nan|[+-]?inf(inity)?", value, re.IGNORECASE):
        return None
    return float(value)


class RunSort(NamedTuple):
    """Sort order of a list of runs."""

    field: str
    """One of SORT_FIELDS, or metrics.*, hparams.*, summary.*"""

    is_down: bool
    """Whether the largest value comes first."""

    @property
    def is_value(self) -> bool:
        return self.field not in SORT_FIELDS


def parse_sort(text: str) -> RunSort:
    """Parse a sort order such as `-val/acc`. Raise InvalidInput."""
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
