"""The search language of MLflow's clients: `metrics.acc > 0.9 and params.model = 'cnn' and tags.team ILIKE '%vis%'`.

filter  test ("and" test)*
test    field sign value | field ["not"] "in" "(" text ("," text)* ")" | field "is" ["not"] "null"
field   [kind "."] name; a name with other characters than letters, digits, _ . - / is in `…` or "…"
sign    = != < <= > >= LIKE ILIKE
"""

from __future__ import annotations

import re
from typing import NamedTuple, Union

from danlu.errors import InvalidInput

MAX_CHARS = 6000
KINDS = {
    **dict.fromkeys(("metric", "metrics"), "metric"),
    **dict.fromkeys(("param", "params", "parameter", "parameters"), "param"),
    **dict.fromkeys(("tag", "tags"), "tag"),
    **dict.fromkeys(("attribute", "attributes", "attr", "run", "trace"), "attribute"),
    **dict.fromkeys(("request_metadata", "metadata"), "metadata"),
}
ATTRIBUTES = {
    **dict.fromkeys(("run name", "Run name", "Run Name"), "run_name"),
    "created": "start_time",
    "Created": "start_time",
    "user": "user_id",
    "creation_timestamp": "creation_time",
    "last_updated_timestamp": "last_update_time",
    "timestamp": "timestamp_ms",
    "execution_time": "execution_time_ms",
}
NUMBER_SIGNS = ("=", "!=", "<", "<=", ">", ">=")
TEXT_SIGNS = ("=", "!=", "LIKE", "ILIKE", "IN", "NOT IN", "IS NULL", "IS NOT NULL")
_NUMBERS = (
    *("start_time", "end_time", "creation_time", "last_update_time", "version_number"),
    *("timestamp_ms", "execution_time_ms"),
)
_NAME = r"(?:[\w/:@%+-]+|`[^`]+`|\"[^\"]+\")"
_TOKEN = re.compile(
    rf"""\s*(?:
      (?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.]))
    | (?P<text>'(?:[^']|'')*')
    | (?P<field>{_NAME}(?:\.{_NAME})*)
    | (?P<sign><=|>=|!=|=|<|>|\(|\)|,)
    )""",
    re.VERBOSE,
)
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_ODD = re.compile(r"nan|[+-]?inf(inity)?", re.IGNORECASE)
"""Values of a metric that are not finite: NaN, Infinity, -Infinity."""

Value = Union[float, str, "tuple[str, ...]", None]


class Comparison(NamedTuple):
    kind: str
    """metric, param, tag, metadata (of a trace) or attribute"""

    key: str
    sign: str
    value: Value


class Order(NamedTuple):
    kind: str
    key: str
    is_ascending: bool


class _Token(NamedTuple):
    kind: str
    text: str


def parse_filter(text: str) -> list[Comparison]:
    """Parse a filter into comparisons, all of which must hold. Raise InvalidInput."""
    if len(text) > MAX_CHARS:
        raise InvalidInput(f"filter: expected at most {MAX_CHARS} characters, got {len(text)}")
    tokens, found = _tokens(text), []
    while tokens:
        found.append(_test(tokens, text))
        if tokens and (len(tokens) == 1 or not _take_word(tokens, "and")):
            raise _wrong(text, f"expected AND and another test, got {tokens[0].text!r}")
    return found


def parse_order(text: str) -> Order:
    """Parse an order such as `metrics.acc DESC`."""
    tokens = _tokens(text)
    if not tokens or tokens[0].kind != "field" or len(tokens) > 2:
        raise _wrong(text, "expected a field and ASC or DESC")
    kind, key = _field(tokens.pop(0).text, text)
    way = tokens[0].text.upper() if tokens else "ASC"
    if way not in ("ASC", "DESC"):
        raise _wrong(text, f"expected ASC or DESC, got {way!r}")
    return Order(kind, key, way == "ASC")


def _tokens(text: str) -> list[_Token]:
    if _UNSTORABLE.search(text):
        raise _wrong(text, "NUL and halves of characters are in no text that is stored")
    found, at, end = [], 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise _wrong(text, f"{text[at : at + 20].strip()!r} is not valid here")
        found.append(_Token(match.lastgroup, match.group(match.lastgroup)))
        at = match.end()
    return found


def _test(tokens: list[_Token], text: str) -> Comparison:
    token = tokens.pop(0)
    if token.kind != "field":
        raise _wrong(text, f"expected a field such as metrics.acc, got {token.text!r}")
    kind, key = _field(token.text, text)
    sign = _sign(tokens, text)
    if sign in ("IS NULL", "IS NOT NULL"):
        return _checked(Comparison(kind, key, sign, None), text)
    if sign in ("IN", "NOT IN"):
        return _checked(Comparison(kind, key, sign, _list(tokens, text)), text)
    if tokens and kind == "metric" and _ODD.fullmatch(tokens[0].text.strip("'")):
        tokens[0] = _Token("number", tokens[0].text.strip("'"))
    if not tokens or tokens[0].kind not in ("number", "text"):
        got = tokens[0].text if tokens else "the end"
        raise _wrong(text, f"expected a value after {sign}, texts in single quotes, got {got!r}")
    value = tokens.pop(0)
    return _checked(
        Comparison(kind, key, sign, float(value.text) if value.kind == "number" else _text(value.text)), text
    )


def _field(text: str, whole: str) -> tuple[str, str]:
    first, dot, rest = text.partition(".")
    if not dot:
        key = _bare(text)
        return "attribute", ATTRIBUTES.get(key, key)
    kind = KINDS.get(first.lower())
    if kind is None:
        raise _wrong(whole, f"expected metrics, params, tags, metadata or attributes before the dot, got {first!r}")
    key = _bare(rest)
    return kind, ATTRIBUTES.get(key, key) if kind == "attribute" else key


def _sign(tokens: list[_Token], text: str) -> str:
    token = tokens.pop(0) if tokens else _Token("end", "the end")
    if token.kind == "sign" and token.text in NUMBER_SIGNS:
        return token.text
    word = token.text.upper()
    if word in ("LIKE", "ILIKE", "IN"):
        return word
    if word == "NOT" and _take_word(tokens, "in"):
        return "NOT IN"
    if word == "IS":
        negated = _take_word(tokens, "not")
        if _take_word(tokens, "null"):
            return "IS NOT NULL" if negated else "IS NULL"
    raise _wrong(text, f"expected one of = != < <= > >= LIKE ILIKE IN, got {token.text!r}")


def _list(tokens: list[_Token], text: str) -> tuple[str, ...]:
    found: list[str] = []
    expected = "("
    while tokens and tokens[0].text == expected:
        tokens.pop(0)
        if not tokens or tokens[0].kind != "text":
            break
        found.append(_text(tokens.pop(0).text))
        if tokens and tokens[0].text == ")":
            tokens.pop(0)
            return tuple(found)
        expected = ","
    raise _wrong(text, "expected a list such as ('a', 'b')")


def _checked(test: Comparison, text: str) -> Comparison:
    is_number = test.kind == "metric" or (test.kind == "attribute" and test.key in _NUMBERS)
    signs = NUMBER_SIGNS if is_number else TEXT_SIGNS
    if test.sign not in signs:
        raise _wrong(text, f"{test.key} is compared with {' '.join(signs)}, not {test.sign}")
    if is_number and not isinstance(test.value, float):
        raise _wrong(text, f"expected a number for {test.key}, got {test.value!r}")
    if not is_number and isinstance(test.value, float):
        raise _wrong(text, f"expected a text in single quotes for {test.key}, got {test.value:g}")
    return test


def _take_word(tokens: list[_Token], word: str) -> bool:
    if tokens and tokens[0].kind == "field" and tokens[0].text.lower() == word:
        tokens.pop(0)
        return True
    return False


def _bare(text: str) -> str:
    return re.sub(r"`([^`]*)`|\"([^\"]*)\"", lambda found: found[1] or found[2] or "", text)


def _text(text: str) -> str:
    return text[1:-1].replace("''", "'")


def _wrong(text: str, problem: str) -> InvalidInput:
    return InvalidInput(f"invalid filter {text[:200]!r}: {problem}")
