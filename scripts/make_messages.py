"""Write web/src/texts/zh/catalogue.json: the server's reasons and messages in Chinese, for the console."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from danlu.spec.messages.catalogue import CAUSES, TEXTS
from danlu.spec.messages.reasons_zh import REASONS
from danlu.spec.messages.words_zh import AMOUNTS, PHRASES, WORDS

FILE = Path(__file__).parents[1] / "web" / "src" / "texts" / "zh" / "catalogue.json"


def catalogue() -> str:
    made = {
        "reasons": {code: words._asdict() for code, words in REASONS.items()},
        "messages": {code: chinese for code, (_, chinese) in {**CAUSES, **TEXTS}.items()},
        "words": WORDS,
        "amounts": dict.fromkeys(AMOUNTS, True),
        "phrases": [{"pattern": pattern, "chinese": chinese} for pattern, chinese in PHRASES],
    }
    return json.dumps(made, ensure_ascii=False, indent=2) + "\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only say whether it is current")
    text = catalogue()
    if parser.parse_args().check:
        sys.exit(0 if FILE.exists() and FILE.read_text() == text else f"{FILE.name} is old: run {sys.argv[0]}")
    FILE.write_text(text)
