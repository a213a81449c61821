"""The built console: which file answers a path, in which encoding."""

from __future__ import annotations

import mimetypes
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

IMMUTABLE = "public, max-age=31536000, immutable"
ASK_AGAIN = "no-cache"
ENCODINGS = (("br", ".br"), ("gzip", ".gz"))
TYPES = {".js": "text/javascript", ".svg": "image/svg+xml", ".css": "text/css", ".html": "text/html"}


@dataclass(frozen=True)
class File:
    path: Path
    media_type: str
    encoding: str
    caching: str


class Console:
    """The files of the console, listed at startup: no other file can be requested."""

    def __init__(self, folder: Path) -> None:
        self._files = {
            path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()
        }

    @property
    def is_built(self) -> bool:
        return "index.html" in self._files

    def find(self, path: str, accepts: str) -> Optional[File]:
        """The file for a path below /. All pages of the console are `index.html`; None when there is no such file."""
        name = path.strip("/")
        if name not in self._files:
            if "." in name.rpartition("/")[2] and name.startswith("assets/"):
                return None
            name = "index.html"
        if name not in self._files or name.endswith((".br", ".gz")):
            return None
        accepted = {word.partition(";")[0].strip() for word in accepts.split(",")}
        encoding, suffix = next(
            ((word, end) for word, end in ENCODINGS if word in accepted and name + end in self._files), ("", "")
        )
        kind = TYPES.get(Path(name).suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
        # names of assets contain a digest
        caching = IMMUTABLE if name.startswith("assets/") else ASK_AGAIN
        return File(self._files[name + suffix], kind, encoding, caching)


def packaged() -> Path:
    """The folder that the build writes to: beside the code, in a wheel as in a checkout."""
    return Path(__file__).parents[2] / "console"
