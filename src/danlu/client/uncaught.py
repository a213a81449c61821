"""A script whose server is away ends with one sentence: where the script was is not what is wrong."""

from __future__ import annotations

import os
import sys
from types import TracebackType
from typing import Optional

from danlu.errors import ServerUnreachable

SWITCH = "DANLU_TRACEBACK"


def tell_briefly() -> None:
    """Have Python show a ServerUnreachable that nobody caught as one line. Quiet where another hook is in place."""
    if sys.excepthook is sys.__excepthook__ and not os.environ.get(SWITCH):
        sys.excepthook = _show


def _show(kind: type[BaseException], error: BaseException, trace: Optional[TracebackType]) -> None:
    if isinstance(error, ServerUnreachable):
        sys.stderr.write(f"danlu: {error.message}\n")
    else:
        sys.__excepthook__(kind, error, trace)
