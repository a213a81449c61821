"""What the console says of the server's words."""

from __future__ import annotations

import re
from pathlib import Path

from danlu.spec.reasons import CATALOGUE

CHINESE = Path(__file__).parents[2] / "web" / "src" / "texts" / "zh" / "reasons.ts"


def test_every_reason_has_chinese_words() -> None:
    known = set(re.findall(r"^  (\w+): \{", CHINESE.read_text(), re.MULTILINE))
    assert known == set(CATALOGUE)
