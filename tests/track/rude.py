"""Values whose own methods raise."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Nameless:
    """Has neither a text nor a `repr`."""

    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


class Rude(Exception):
    """Raises whatever is asked of it."""

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        raise Rude

    def __str__(self) -> str:
        return 5  # type: ignore[return-value]  # noqa: PLE0307

    def __repr__(self) -> str:
        raise Rude

    def __eq__(self, other: object) -> bool:
        raise Rude

    def __bool__(self) -> bool:
        raise Rude

    def __float__(self) -> float:
        raise Rude

    def __getattr__(self, name: str) -> Any:
        raise Rude

    __hash__ = Exception.__hash__


@contextmanager
def plain_errors() -> Iterator[None]:
    """Replace an error, which may be or contain a Rude: pytest cannot report one."""
    raised = ""
    try:
        yield
    except Exception as error:
        raised = type(error).__name__
    if raised:
        raise AssertionError(f"{raised} was raised") from None  # the block's error is still being handled here
