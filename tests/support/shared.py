"""A world that is served once for many tests, and put back to how it was before each of them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.world import START, Api, World, make_world


class Snapshot:
    """How the database and the stored files of a world were."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._file = world.settings.server_dir / "danlu.db"
        self._database = sqlite3.connect(":memory:", check_same_thread=False)
        live = sqlite3.connect(self._file)
        live.backup(self._database)
        live.close()
        self._files = {path: path.read_bytes() for path in self._all_files()}

    def restore(self) -> None:
        live = sqlite3.connect(self._file)
        live.execute("PRAGMA synchronous=OFF")  # the disk need not have it
        self._database.backup(live)
        live.close()
        for path in set(self._all_files()) - set(self._files):
            path.unlink()
        for path, content in self._files.items():
            if not path.exists() or path.read_bytes() != content:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)

    def close(self) -> None:
        self._database.close()

    def _all_files(self) -> list[Path]:
        settings = self._world.settings
        folders = (settings.objects_dir, settings.server_dir / "uploads", settings.server_dir / "blobs")
        return [path for folder in folders if folder.exists() for path in folder.rglob("*") if path.is_file()]


@dataclass
class Shared:
    world: World
    url: str
    _snapshot: Snapshot

    def fresh(self) -> World:
        """The world as it was in the beginning."""
        world = self.world
        self._snapshot.restore()
        world.clock.now = START
        object.__setattr__(world.state, "settings", world.settings)  # the app that is being served has this very state
        world.engine.tasks.clear()
        world.scheduler = world.new_scheduler("server-1")
        return world

    def api(self) -> Api:
        return Api(self.url, self.world.api_key())


@contextmanager
def share_world(folder: Path) -> Iterator[Shared]:
    with make_world(folder) as world, world.serving() as url:
        shared = Shared(world, url, Snapshot(world))
        yield shared
        shared._snapshot.close()
