"""End a script whose server is unreachable with one sentence: a traceback would not help the user."""

from __future__ import annotations

import os
import sys
from types import TracebackType
from typing import Optional

from danlu.errors import ServerUnreachable

SWITCH = "DANLU_TRACEBACK"


def tell_briefly() -> None:
    """Print an uncaught ServerUnreachable as one line. Does nothing when another hook is installed."""
    if sys.excepthook is sys.__excepthook__ and not os.environ.get(SWITCH):
        sys.excepthook = _show


def _show(kind: type[BaseException], error: BaseException, trace: Optional[TracebackType]) -> None:
    if isinstance(error, ServerUnreachable):
        sys.stderr.write(f"danlu: {error.message}\n")
    else:
        sys.__excepthook__(kind, error, trace)
