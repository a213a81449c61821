"""From what users pass to what a journal holds. Nothing here raises for a strange value."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Optional, Union

TYPES = {
    "train": "train",
    "training": "train",
    "val": "val",
    "valid": "val",
    "validate": "val",
    "validation": "val",
    "test": "test",
    "testing": "test",
    "eval": "test",
    "evaluate": "test",
    "evaluation": "test",
}
MAX_NAME = 200
MAX_TEXT = 16_384
MAX_DEPTH = 8


def type_word(text: object) -> str:
    """One word per meaning: `validation` is `val`. Other words are the user's own and stay as they are."""
    word = str(text).strip()[:MAX_NAME] or "train"
    return TYPES.get(word.lower(), word)


def to_number(value: Any) -> Optional[float]:
    """The value as a float: numbers, NumPy scalars, tensors of one element. None when it is no number."""
    if isinstance(value, (str, bytes, bytearray)):
        return None  # float("1") would work, but a text is a mistake, not a metric
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        pass
    try:
        return float(value.item())
    except (AttributeError, TypeError, ValueError, OverflowError, RuntimeError):
        return None


def to_step(value: Any) -> Optional[int]:
    number = value if isinstance(value, int) else to_number(value)
    if number is None or not math.isfinite(number):
        return None
    step = int(number)
    return step if -(1 << 63) <= step < 1 << 63 else None


def to_plain(value: Any, depth: int = 0) -> Any:
    """The value as JSON can hold it; what it cannot hold becomes text."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return value[:MAX_TEXT]
    if isinstance(value, (int, float)):
        return _finite(value)
    if depth < MAX_DEPTH and isinstance(value, Mapping):
        return {str(key)[:MAX_NAME]: to_plain(inner, depth + 1) for key, inner in value.items()}
    if depth < MAX_DEPTH and isinstance(value, (list, tuple, set, frozenset)):
        return [to_plain(inner, depth + 1) for inner in value]
    number = _scalar(value)
    return _shown(value) if number is None else to_plain(number, depth)


def _finite(value: Union[int, float]) -> Union[int, float, str]:
    """Without the subclasses of NumPy and others; NaN and infinity as words, which JSON has no numbers for."""
    if isinstance(value, int):
        return int(value)
    return float(value) if math.isfinite(value) else str(float(value))


def _scalar(value: Any) -> Any:
    """What `item()` of a NumPy scalar or a tensor of one element gives."""
    try:
        found = value.item()
    except Exception:  # somebody else's object may do anything
        return None
    return found if isinstance(found, (bool, int, float, str)) else None


def _shown(value: Any) -> str:
    try:
        return str(value)[:MAX_TEXT]
    except Exception as error:
        return f"<{type(value).__name__}: {type(error).__name__}>"
