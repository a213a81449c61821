"""Links in the documents lead somewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
_BLOCK = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]+`")
_LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?[^)]*\)|^\[[^\]]+\]:\s*<?([^\s>]+)", re.MULTILINE)
_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)


def relative_links(text: str) -> Iterator[str]:
    """Targets of links in a Markdown text that are paths, without what follows `#`."""
    for found in _LINK.finditer(_CODE.sub("code", _BLOCK.sub("", text))):
        target = found.group(1) or found.group(2)
        path = unquote(target.partition("#")[0])
        if path and not _ELSEWHERE.match(target):
            yield path


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_relative_link_leads_to_a_file(document: Path) -> None:
    targets = [(document.parent / path).resolve() for path in relative_links(document.read_text(encoding="utf-8"))]
    missing = [target.relative_to(ROOT).as_posix() for target in targets if not target.exists()]
    assert missing == []


def test_the_links_of_a_text_are_found() -> None:
    text = "[a](x.md) [`b`](../y.md#part) ![c](<z.svg> 'title') [d](https://x.org) [e](#here)\n[f]: w.md\n"
    code = "```\n[no](link.md)\n```\nand `[none](either.md)`\n"
    assert list(relative_links(text + code)) == ["x.md", "../y.md", "z.svg", "w.md"]
