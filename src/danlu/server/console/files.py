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
    """The files of the console. They are read at the start: what is not among them cannot be asked for."""

    def __init__(self, folder: Path) -> None:
        self._files = {
            path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()
        }

    @property
    def is_built(self) -> bool:
        return "index.html" in self._files

    def find(self, path: str, accepts: str) -> Optional[File]:
        """The file for a path below /. Pages of the console are all the same file; None when there is no such one."""
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
        # names of assets have a digest in them
        caching = IMMUTABLE if name.startswith("assets/") else ASK_AGAIN
        return File(self._files[name + suffix], kind, encoding, caching)


def packaged() -> Path:
    """Where the build puts it: beside the code, in the wheel as in a checkout."""
    return Path(__file__).parents[2] / "console"
