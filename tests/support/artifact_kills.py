"""Uploads of artifacts whose client or server is killed, and what must be true of every artifact at any moment."""

from __future__ import annotations

import hashlib
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from sqlalchemy import select

from danlu.client.tracking.artifacts import Draft, Uploaded, plan
from danlu.content.ids import new_artifact_id
from danlu.content.manifest import read_manifest
from danlu.errors import DanluError, NotFound
from danlu.store.objects.blobs import Blobs
from danlu.store.objects.local import LocalObjects
from danlu.store.sql.artifact_tables import ArtifactRow, ArtifactVersionRow
from danlu.store.sql.database import Database, sqlite_url
from danlu.store.sql.tables import BlobOwnerRow
from danlu.testing.serving import RunningServer

NUM_TRIES = 20
SENDS = """
import sys
from danlu.client import Client
from danlu.client.tracking.artifacts import Draft, plan
url, key, name, own_id, path, parallel = sys.argv[1:]
def tell(progress):
    print(progress.done_bytes, flush=True)
with Client(url, key) as client:
    done = client.artifacts.send(Draft(name, id=own_id), plan(path), progress=tell, num_parallel=int(parallel))
print("sent", done.sent_bytes, flush=True)
"""


def make_file(path: Path, size: int, seed: int) -> Path:
    chance = random.Random(seed)
    with path.open("wb") as file:
        for begin in range(0, size, 1 << 20):
            file.write(chance.randbytes(min(1 << 20, size - begin)))
    return path


class Killed:
    """One upload, in processes that are killed when they have come so far."""

    def __init__(self, server: RunningServer, name: str, path: Path) -> None:
        self.server, self.name, self.path = server, name, path
        self.id = new_artifact_id()
        self.size = path.stat().st_size

    def send(self, *, kill_at: float | None, num_parallel: int = 2) -> int | None:
        """Upload in a process, and kill it when this share is done; 0 is before anything is. Return what was sent."""
        arguments = [self.server.url, self.server.api_key, self.name, self.id, str(self.path), str(num_parallel)]
        process = subprocess.Popen([sys.executable, "-c", SENDS, *arguments], stdout=subprocess.PIPE, text=True)
        sent = None
        assert process.stdout is not None
        with process.stdout as said:
            for line in said:
                if line.startswith("sent"):
                    sent = int(line.split()[1])
                elif kill_at is not None and int(line) >= kill_at * self.size:
                    process.kill()
                    break
        process.wait()
        return sent

    def is_there(self) -> bool:
        with self.server.client() as client:
            try:
                return client.artifacts.get(self.id).num_files == 1
            except NotFound:
                return False

    def check_whole(self, folder: Path) -> None:
        with self.server.client() as client:
            (back,) = client.artifacts.download(self.id, folder)
        assert _sha256(back) == _sha256(self.path)
        back.unlink()


def send_while_killed(server: RunningServer, draft: Draft, path: Path, moments: list[float]) -> tuple[Uploaded, int]:
    """Upload, and kill the server when these shares are done; 1 is while it is being committed. Also return the kills.

    A client that is told that the server is away tries again with the same id, as people do.
    """
    size = path.stat().st_size
    left, kills = sorted(moments), 0
    for _ in range(len(moments) + NUM_TRIES):
        server_is_killed = False

        def tell(progress: Any) -> None:
            nonlocal server_is_killed, kills
            if left and not server_is_killed and progress.done_bytes >= left[0] * size:
                left.pop(0)
                server_is_killed = True
                kills += 1
                server.kill()

        try:
            with server.client() as client:
                return client.artifacts.send(draft, plan(path), progress=tell), kills
        except DanluError:
            server.start()
    raise AssertionError(f"{draft.name} does not arrive")


def check_artifacts(data_dir: Path) -> int:
    """Every version is whole: bytes, sizes and counts. Return how many there are."""
    database = Database(sqlite_url(data_dir / "server" / "danlu.db"))
    try:
        with database.reading() as session:
            projects = {row.number: row.project_id for row in session.scalars(select(ArtifactRow))}
            versions = session.scalars(select(ArtifactVersionRow)).all()
            owned = {(row.project_id, row.digest): row for row in session.scalars(select(BlobOwnerRow))}
        blobs = Blobs(LocalObjects(data_dir / "server"), database)
        wanted: Counter[tuple[int, str]] = Counter()
        for version in versions:
            manifest = read_manifest(b"".join(blobs.read_checked(version.manifest)))
            for digest, size in manifest.chunks().items():
                assert sum(map(len, blobs.read_checked(digest))) == size
            for digest in {version.manifest, *manifest.chunks()}:
                wanted[projects[version.artifact], digest] += 1
    finally:
        database.close()
    for (project_id, digest), count in wanted.items():
        assert owned[project_id, digest].num_refs == count, digest
    stray = [key for key, row in owned.items() if row.num_refs > 0 and key not in wanted]
    assert stray == []
    return len(versions)


def arrived_bytes(data_dir: Path) -> int:
    """Bytes that the server says it has, and need not be sent again."""
    database = Database(sqlite_url(data_dir / "server" / "danlu.db"))
    try:
        with database.reading() as session:
            rows = session.scalars(select(BlobOwnerRow).where(BlobOwnerRow.num_refs >= 0)).all()
            return sum(row.size or 0 for row in rows)
    finally:
        database.close()


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
