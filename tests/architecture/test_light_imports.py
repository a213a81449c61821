"""What is imported in training images and on the command line loads nothing heavy."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("import danlu", ("pydantic", "httpx", "fastapi", "sqlalchemy", "torch", "ray", "typer", "rich")),
        (
            "from danlu.client import Client",
            ("fastapi", "sqlalchemy", "alembic", "uvicorn", "torch", "ray", "cryptography", "typer"),
        ),
        ("import danlu.spec.job", ("httpx", "fastapi", "sqlalchemy", "torch")),
        ("import danlu.cli", ("fastapi", "sqlalchemy", "uvicorn", "torch", "ray")),
        (
            "import danlu.track",
            ("pydantic", "httpx", "yaml", "torch", "numpy", "danlu.client", "danlu.spec", "danlu.errors"),
        ),
        (
            # beside a training, and what it asks for in a moment
            "import danlu.track.sync.sync_now, danlu.track.sync.companion, danlu.client.config",
            ("pydantic", "httpx", "torch", "numpy", "danlu.spec", "danlu.wire", "danlu.client.client"),
        ),
        (
            "import danlu.node.supervise.shim, danlu.node.stage.stager",
            ("pydantic", "httpx", "danlu.spec", "danlu.errors"),
        ),
    ],
)
def test_importing_stays_light(statement: str, absent: tuple[str, ...]) -> None:
    script = f"import sys; {statement}; print(*sorted(sys.modules), sep='\\n')"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert [name for name in absent if name in loaded] == []
