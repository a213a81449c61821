"""The compiled search for ends of chunks, for processes of a node: these cannot import installed packages."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import ExtensionFileLoader, ModuleSpec
from importlib.util import module_from_spec
from typing import Optional

from danlu.content.cutting import COMPILED


def compiled_file() -> Optional[str]:
    """The file of the installed one, for a process that can import it."""
    try:
        return str(import_module(COMPILED).FILE)
    except (ImportError, AttributeError):  # an older one does not say
        return None


def load_compiled(file: str) -> None:
    """Use the one in a file from now on. Without effect if it is of another Python."""
    loader = ExtensionFileLoader("_cutting", file)
    try:
        module = module_from_spec(ModuleSpec("_cutting", loader, origin=file))
        loader.exec_module(module)
    except (ImportError, OSError):
        return
    sys.modules.setdefault(COMPILED, module)
