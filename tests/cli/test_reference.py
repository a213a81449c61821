from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_reference_is_what_the_commands_say() -> None:
    made = runpy.run_path(str(ROOT / "scripts" / "cli_reference.py"))["render"]()
    written = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    assert written == made, "run python scripts/cli_reference.py"
