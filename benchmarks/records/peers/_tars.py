"""The same photos as WebDataset tars."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

SHARDS = 8


def prepare(data: Path) -> None:
    target = data / "webdataset"
    if target.is_dir():
        return
    target.mkdir()
    photos = sorted((data / "photos").glob("*/*.jpg"))
    for shard in range(SHARDS):
        with tarfile.open(target / f"{shard:05d}.tar", "w") as tar:
            for number in range(shard, len(photos), SHARDS):
                _add(tar, f"{number:06d}.jpg", photos[number].read_bytes())
                _add(tar, f"{number:06d}.cls", b"0")


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    tar.addfile(info, io.BytesIO(content))
