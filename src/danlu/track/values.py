"""Convert what users pass to what a journal holds. Never raises for unexpected values."""

from __future__ import annotations

import dataclasses
import math
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from types import SimpleNamespace
from typing import Any, Optional, Union

from danlu.journal.words import TYPES
from danlu.track.warn import warn_once

_PLAIN = frozenset({float, int, bool})
MAX_NAME = 200
MAX_TEXT = 16_384
MAX_KEY = 1000
MAX_DEPTH = 32
MAX_VALUES = 1 << 19
"""Maximum number of values in one: more do not fit into 1 MiB of JSON. Lists that share lists may stand for more."""

MAX_INTEGER_BITS = 14_000
"""Python refuses to write longer integers in decimal digits."""

MAX_STEP = (1 << 63) - 1
MAX_LABELS = 100


def type_word(text: object) -> str:
    """Normalize a type: `validation` becomes `val`. Words that the user chose stay as they are."""
    word = text_of(text, MAX_NAME).strip() or "train"
    return TYPES.get(word.lower(), word)


def kind_name(value: object) -> str:
    """Return the name of the class of a value."""
    try:
        return str.__str__(type(value).__name__)
    except Exception:  # a metaclass may raise anything
        return "object"


def is_a(value: Any, kind: Any) -> bool:
    """Like `isinstance`, which asks the value for its class, where a foreign object may raise anything."""
    try:
        return isinstance(value, kind)
    except Exception:
        return False


def is_true(value: Any) -> bool:
    try:
        return bool(value)
    except Exception:  # an array, for one
        return True


def text_of(value: object, most: int) -> str:
    """Return the beginning of a text, which servers can store: without halves of surrogate pairs, as file names may
    have them, and without NUL."""
    text = _shown(value)[:most].replace("\0", "")
    return text.encode("utf-8", "replace").decode()


def brief(value: object, most: int = 80) -> str:
    """Return the beginning of `repr`, for warnings."""
    try:
        return str.__str__(repr(value))[:most]
    except Exception as error:
        return f"<{kind_name(value)}: {kind_name(error)}>"


def as_labels(value: object, what: str = "labels") -> Optional[list[str]]:
    """Return labels from a text, or anything that has several; None, with a warning, for others."""
    given: Any = [value] if is_a(value, str) else () if value is None else value
    try:
        several = list(given)
        labels = [text_of(label, MAX_NAME) for label in several[:MAX_LABELS]]
    except Exception:  # not iterable; a foreign object may raise anything
        warn_once(what, f"{what} are a list of texts, not {brief(value)}")
        return None
    if len(several) > MAX_LABELS:
        warn_once(f"{what} cut", f"of {len(several)} {what}, the first {MAX_LABELS} are kept")
    return labels


def to_number(value: Any) -> Optional[float]:
    """Convert numbers, NumPy scalars and tensors with one element to float. None for anything else."""
    if is_a(value, (str, bytes, bytearray)):
        return None  # float("1") would work, but text as a metric is a mistake
    try:
        return float(detached(value))
    except Exception:  # a foreign object may raise anything, also a warning that is an error
        pass
    try:
        return float(value.item())
    except Exception:
        return None


def numbers_of(metrics: Mapping[Any, Any]) -> dict[str, float]:
    """Return the values that are numbers, by name; each of the others is a warning."""
    kept: dict[str, float] = {}
    for name, value in metrics.items():
        number = to_number(value)
        if number is None:
            shown = brief(name)
            warn_once(f"value {shown}", f"log(): {shown} is {brief(value)}, which is no number; it is left out")
        else:
            kept[text_of(name, MAX_NAME)] = number
    return kept


def detached(value: Any) -> Any:
    """Detach a tensor from the graph: PyTorch warns about numbers of tensors that require gradients."""
    return value.detach() if getattr(value, "requires_grad", False) is True else value


def plain_numbers(values: Collection[Any]) -> Iterable[Any]:
    """Return values that can be packed without a warning. Python numbers are returned as they are."""
    return values if _PLAIN.issuperset(map(type, values)) else [detached(value) for value in values]


def as_mapping(value: Any) -> Optional[dict[str, Any]]:
    """Return the fields of an object that holds hyperparameters; None when it has none.

    Mappings, `argparse.Namespace`, data classes, attrs, named tuples, pydantic models, absl's flags, any object with
    attributes or slots.
    """
    try:
        if isinstance(value, Mapping):
            return dict(value)
        for name in ("model_dump", "flag_values_dict", "_asdict"):
            method = getattr(value, name, None)
            if callable(method) and not isinstance(value, type):
                return dict(method())
        names = _field_names(value)
        if names:
            return {name: getattr(value, name) for name in names if hasattr(value, name)}
        if hasattr(value, "items") and hasattr(value, "keys"):
            return dict(value.items())
        return None if isinstance(value, type) else {k: v for k, v in vars(value).items() if not k.startswith("_")}
    except Exception:  # a foreign object may raise anything
        return None


def _field_names(value: Any) -> list[str]:
    """Return the fields of a data class, of attrs, or of a class with slots only."""
    kind = type(value)
    if isinstance(value, type):
        return []
    if dataclasses.is_dataclass(value):
        return [field.name for field in dataclasses.fields(value)]
    attributes = getattr(kind, "__attrs_attrs__", None)
    if attributes is not None:
        return [attribute.name for attribute in attributes]
    if hasattr(value, "__dict__") or isinstance(value, (str, bytes, int, float, Sequence, Set)):
        return []
    slots = (vars(one).get("__slots__", ()) for one in reversed(kind.__mro__))
    names = (name for one in slots for name in ((one,) if isinstance(one, str) else one))
    return [name for name in names if not name.startswith("_")]


def _has_fields(value: Any) -> bool:
    """Whether an object consists of fields; any other is better shown as text."""
    if isinstance(value, type):
        return False
    argparse = sys.modules.get("argparse")
    return (
        isinstance(value, (Mapping, SimpleNamespace))
        or (argparse is not None and isinstance(value, argparse.Namespace))
        or dataclasses.is_dataclass(value)
        or hasattr(type(value), "__attrs_attrs__")
        or callable(getattr(type(value), "model_dump", None))
        or (isinstance(value, tuple) and hasattr(value, "_asdict"))
    )


def to_step(value: Any) -> Optional[int]:
    try:
        number = value if is_a(value, int) else to_number(value)
        if number is None or (isinstance(number, float) and not math.isfinite(number)):
            return None
        step = int(number)
    except Exception:  # a foreign object may raise anything
        return None
    return step if -MAX_STEP - 1 <= step <= MAX_STEP else None


def to_plain(value: Any) -> Any:
    """Convert a value to JSON types; unsupported ones become text, and so do those of more than MAX_VALUES values."""
    try:
        found = as_mapping(value) if _has_fields(value) else None
    except Exception:  # a foreign object may raise anything
        found = None
    if found is None:
        return _Plain().of(value, 0)
    return {_key(key): _Plain().of(inner, 1) for key, inner in found.items()}


class _TooMany(ValueError):
    pass


class _Plain:
    """Converts one value. Its lists may contain themselves, or each other."""

    def __init__(self) -> None:
        self._left = MAX_VALUES
        self._around: set[int] = set()

    def of(self, value: Any, depth: int) -> Any:
        try:
            return self._of(value, depth)
        except _TooMany:
            return f"<{kind_name(value)} of more than {MAX_VALUES} values>"

    def _of(self, value: Any, depth: int) -> Any:
        self._left -= 1
        if self._left < 0:
            raise _TooMany
        try:
            return self._converted(value, depth)
        except _TooMany:
            raise
        except Exception:  # a foreign object may raise anything; the values beside it are kept
            return _shown(value)[:MAX_TEXT]

    def _converted(self, value: Any, depth: int) -> Any:
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return str.__str__(value)  # the text of a member of an Enum of texts, not its name
        if isinstance(value, (int, float)):
            return _finite(value)
        if id(value) in self._around:
            return f"<this {kind_name(value)} again>"
        self._around.add(id(value))
        try:
            return self._inside(value, depth)
        finally:
            self._around.discard(id(value))

    def _inside(self, value: Any, depth: int) -> Any:
        if _has_fields(value):
            found = as_mapping(value) if depth < MAX_DEPTH else None
            if found is not None:
                return {_key(key): self._of(inner, depth + 1) for key, inner in found.items()}
        elif _is_list(value):
            if depth >= MAX_DEPTH:  # its text may be as long as what it stands for
                return f"<{kind_name(value)}>"
            return [self._of(inner, depth + 1) for inner in _in_order(value)]
        number = _scalar(value)
        return _shown(value)[:MAX_TEXT] if number is None else self._of(number, depth)


def _is_list(value: Any) -> bool:
    return isinstance(value, (Sequence, Set)) and not isinstance(value, (bytes, bytearray, memoryview, range))


def _in_order(value: Any) -> Iterator[Any]:
    """Yield the items; those of a set in an order that is the same in every process."""
    if isinstance(value, Set):
        try:
            value = sorted(value)
        except Exception:  # of several types
            value = sorted(value, key=brief)
    return iter(value)


def _key(key: Any) -> str:
    return (str.__str__(key) if issubclass(type(key), str) else _shown(key))[:MAX_KEY]


def _finite(value: Union[int, float]) -> Union[int, float, str]:
    """Convert subclasses of NumPy and others to plain numbers; NaN and infinity to text, which JSON can represent."""
    if isinstance(value, int):
        number = int(value)
        return number if number.bit_length() <= MAX_INTEGER_BITS else hex(number)[:MAX_TEXT]
    return float(value) if math.isfinite(value) else str(float(value))


def _scalar(value: Any) -> Any:
    """Return `item()` of a NumPy scalar or a tensor with one element."""
    try:
        found = value.item()
    except Exception:  # a foreign object may raise anything
        return None
    return found if isinstance(found, (bool, int, float, str)) else None


def _shown(value: object) -> str:
    try:
        return str.__str__(str(value))  # without the methods of a subclass
    except Exception as error:
        return f"<{kind_name(value)}: {kind_name(error)}>"


def without_type(first: Any, second: Any, *, step: Any) -> tuple[str, Any, Any]:
    """Return type, values and step of `log({...}, step=i)` and `log({...}, i)`, which omit the type."""
    if not is_a(first, Mapping):
        return text_of(first, MAX_NAME), second, step
    return "train", first, second if step is None else step
