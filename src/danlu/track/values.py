"""Convert what users pass to what a journal holds. Never raises for unexpected values."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Optional, Union

from danlu.journal.words import TYPES

_PLAIN = frozenset({float, int, bool})
MAX_NAME = 200
MAX_TEXT = 16_384
MAX_KEY = 1000
MAX_DEPTH = 32


def type_word(text: object) -> str:
    """Normalize a type: `validation` becomes `val`. Words that the user chose stay as they are."""
    word = str(text).strip()[:MAX_NAME] or "train"
    return TYPES.get(word.lower(), word)


def to_number(value: Any) -> Optional[float]:
    """Convert numbers, NumPy scalars and tensors with one element to float. None for anything else."""
    if isinstance(value, (str, bytes, bytearray)):
        return None  # float("1") would work, but text as a metric is a mistake
    try:
        return float(detached(value))
    except (TypeError, ValueError, OverflowError, RuntimeError):
        pass
    try:
        return float(value.item())
    except (AttributeError, TypeError, ValueError, OverflowError, RuntimeError):
        return None


def detached(value: Any) -> Any:
    """Detach a tensor from the graph: PyTorch warns about numbers of tensors that require gradients."""
    return value.detach() if getattr(value, "requires_grad", False) is True else value


def plain_numbers(values: Collection[Any]) -> Iterable[Any]:
    """Return values that can be packed without a warning. Python numbers are returned as they are."""
    return values if _PLAIN.issuperset(map(type, values)) else [detached(value) for value in values]


def as_mapping(value: Any) -> Optional[dict[str, Any]]:
    """Return the fields of an object that holds hyperparameters; None when it has none.

    Mappings, `argparse.Namespace`, data classes, named tuples, pydantic models, absl's flags, any object with
    attributes.
    """
    try:
        if isinstance(value, Mapping):
            return dict(value)
        for name in ("model_dump", "flag_values_dict", "_asdict"):
            method = getattr(value, name, None)
            if callable(method) and not isinstance(value, type):
                return dict(method())
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        if hasattr(value, "items") and hasattr(value, "keys"):
            return dict(value.items())
        return None if isinstance(value, type) else {k: v for k, v in vars(value).items() if not k.startswith("_")}
    except Exception:  # a foreign object may raise anything
        return None


def _has_fields(value: Any) -> bool:
    """Whether an object consists of fields; any other is better shown as text."""
    return (
        isinstance(value, Mapping)
        or type(value).__module__ == "argparse"
        or (dataclasses.is_dataclass(value) and not isinstance(value, type))
        or callable(getattr(type(value), "model_dump", None))
        or (isinstance(value, tuple) and hasattr(value, "_asdict"))
    )


def to_step(value: Any) -> Optional[int]:
    number = value if isinstance(value, int) else to_number(value)
    if number is None or not math.isfinite(number):
        return None
    step = int(number)
    return step if -(1 << 63) <= step < 1 << 63 else None


def to_plain(value: Any, depth: int = 0) -> Any:
    """Convert a value to JSON types; unsupported ones become text."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (int, float)):
        return _finite(value)
    mapping = as_mapping(value) if depth < MAX_DEPTH and _has_fields(value) else None
    if mapping is not None:
        return {str(key)[:MAX_KEY]: to_plain(inner, depth + 1) for key, inner in mapping.items()}
    if depth < MAX_DEPTH and isinstance(value, (list, tuple, set, frozenset)):
        return [to_plain(inner, depth + 1) for inner in value]
    number = _scalar(value)
    return _shown(value) if number is None else to_plain(number, depth)


def _finite(value: Union[int, float]) -> Union[int, float, str]:
    """Convert subclasses of NumPy and others to plain numbers; NaN and infinity to text, which JSON can represent."""
    if isinstance(value, int):
        return int(value)
    return float(value) if math.isfinite(value) else str(float(value))


def _scalar(value: Any) -> Any:
    """Return `item()` of a NumPy scalar or a tensor with one element."""
    try:
        found = value.item()
    except Exception:  # a foreign object may raise anything
        return None
    return found if isinstance(found, (bool, int, float, str)) else None


def _shown(value: Any) -> str:
    try:
        return str(value)[:MAX_TEXT]
    except Exception as error:
        return f"<{type(value).__name__}: {type(error).__name__}>"


def without_type(first: Any, second: Any, *, step: Any) -> tuple[str, Any, Any]:
    """Return type, values and step of `log({...}, step=i)` and `log({...}, i)`, which omit the type."""
    if not isinstance(first, Mapping):
        return str(first), second, step
    return "train", first, second if step is None else step
