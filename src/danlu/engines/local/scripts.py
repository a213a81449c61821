"""The programs that run beside tasks, and the command that runs them."""

from __future__ import annotations

import os
from pathlib import Path

import danlu.node
from danlu.engines.settings import EngineSettings

NODE_SCRIPTS = Path(os.path.realpath(danlu.node.__file__)).parent


def script_runner(settings: EngineSettings) -> tuple[str, ...]:
    return (os.path.realpath(settings.python), "-I", "-S")
