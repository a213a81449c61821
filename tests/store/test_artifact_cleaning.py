"""Clean-up beside artifacts: what a version or an upload refers to stays, whatever happens at the same time."""

from __future__ import annotations

import hashlib
import json
import random
import threading
from collections.abc import Callable

import pytest
from sqlalchemy import update
from tests.support.databases import KINDS
from tests.support.world import World

from danlu.content.ids import new_artifact_id
from danlu.content.manifest import Chunk, File, Manifest
from danlu.content.packs import pack
from danlu.errors import Conflict, NotFound, Unavailable
from danlu.server.artifacts import operations, service, uploads
from danlu.server.stores import cleaning_places
from danlu.store.sql.tables import BlobOwnerRow
from danlu.store.upkeep import repacking
from danlu.store.upkeep.cleaning import announce_removal, find_leftovers, finish_removal
from danlu.store.upkeep.leftovers import Kind, Places
from danlu.wire.artifacts import BeginArtifact

DAY = 86400


@pytest.fixture(params=KINDS)
def database_kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def places(world: World) -> Places:
    return Places(**{**cleaning_places(world.settings, world.database).__dict__, "now": world.clock})


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def begin(world: World, name: str = "model") -> str:
    made = new_artifact_id()
    world.database.write(uploads.begin, world.state, world.admin, BeginArtifact(artifact=made, name=name))
    return made


def take(world: World, upload: str, *chunks: bytes) -> None:
    header = [{"sha256": digest(data), "size": len(data)} for data in chunks]
    operations.take_chunks(world.state, world.admin, upload, pack(header, chunks))


def commit(world: World, upload: str, *chunks: bytes) -> str:
    parts = tuple(Chunk(digest(data), len(data)) for data in chunks)
    whole = b"".join(chunks)
    manifest = Manifest((File("model.pt", len(whole), digest(whole), parts),))
    body = json.dumps({"manifest": json.loads(manifest.to_json())}).encode()
    return operations.commit(world.state, world.admin, upload, body).id


def clean(places: Places) -> set[str]:
    """Remove what is found; return the names of the blobs that went."""
    found = list(find_leftovers(places))
    for leftover in found:
        leftover.remove()
    return {leftover.name for leftover in found if leftover.kind is Kind.BLOB}


def read(world: World, version: str, *chunks: bytes) -> bytes:
    return operations.read_chunks(world.state, world.admin, version, [digest(data) for data in chunks])


class TestVersions:
    def test_what_a_version_keeps_stays_until_it_is_deleted(
        self, world: World, places: Places, caplog: pytest.LogCaptureFixture
    ) -> None:
        first, second = begin(world), begin(world)
        take(world, first, b"shared", b"old")
        take(world, second, b"new")
        commit(world, first, b"shared", b"old")
        commit(world, second, b"shared", b"new")
        world.clock.pass_seconds(40 * DAY)
        assert clean(places) == set()
        operations.delete_version(world.state, world.admin, first)
        gone = clean(places)
        assert digest(b"old") in gone
        assert len(gone) == 2, "and its manifest"
        assert b"shared" in read(world, second, b"shared", b"new")
        with pytest.raises(NotFound):
            world.database.read(service.find, world.admin, first)
        assert caplog.text == "", "the counts alone were enough"

    def test_a_count_that_is_wrong_costs_nobody_bytes(
        self, world: World, places: Places, caplog: pytest.LogCaptureFixture
    ) -> None:
        upload = begin(world)
        take(world, upload, b"counted")
        version = commit(world, upload, b"counted")
        with world.database.writing() as session:
            session.execute(update(BlobOwnerRow).values(num_refs=0))
        world.clock.pass_seconds(40 * DAY)
        assert clean(places) == set()
        assert "2 blobs have a wrong reference count and are kept" in caplog.text
        assert b"counted" in read(world, version, b"counted")

    def test_what_another_project_has_sent_is_not_there_for_one(self, world: World) -> None:
        ann = world.add_user("ann", "vision")
        mine = begin(world)
        take(world, mine, b"same bytes")
        commit(world, mine, b"same bytes")
        theirs = new_artifact_id()
        world.database.write(
            uploads.begin, world.state, ann, BeginArtifact(artifact=theirs, name="m", project="vision")
        )
        asked = world.database.write(uploads.lacking, world.state, ann, theirs, [digest(b"same bytes")])
        assert asked.lacking == [digest(b"same bytes")], "what others have sent does not exist for them"


class TestUploads:
    def test_what_an_upload_sent_long_ago_stays_while_it_goes_on(self, world: World, places: Places) -> None:
        upload = begin(world)
        take(world, upload, b"first")
        for _ in range(5):
            world.clock.pass_seconds(5 * DAY)
            world.database.write(uploads.lacking, world.state, world.admin, upload, [digest(b"other")])
            assert clean(places) == set()
        take(world, upload, b"last")
        version = commit(world, upload, b"first", b"last")
        assert b"first" in read(world, version, b"first", b"last")

    def test_what_an_upload_found_there_stays_too(self, world: World, places: Places) -> None:
        old = begin(world)
        take(world, old, b"base")
        commit(world, old, b"base")
        world.clock.pass_seconds(30 * DAY)
        upload = begin(world)
        assert world.database.write(uploads.lacking, world.state, world.admin, upload, [digest(b"base")]).lacking == []
        operations.delete_version(world.state, world.admin, old)
        for _ in range(4):
            world.clock.pass_seconds(5 * DAY)
            world.database.write(uploads.lacking, world.state, world.admin, upload, [])
            assert digest(b"base") not in clean(places)
        commit(world, upload, b"base")

    def test_one_that_nobody_went_on_with_goes(self, world: World, places: Places) -> None:
        upload = begin(world)
        take(world, upload, b"first")
        world.clock.pass_seconds(15 * DAY)
        assert clean(places) == {digest(b"first")}
        with pytest.raises(NotFound):
            commit(world, upload, b"first")
        again = begin(world)
        with pytest.raises(Conflict, match="1 of 1 chunks have not arrived"):
            commit(world, again, b"first")
        take(world, again, b"first")
        commit(world, again, b"first")

    def test_what_is_sent_between_finding_and_removing_stays(self, world: World, places: Places) -> None:
        upload = begin(world)
        take(world, upload, b"first")
        world.clock.pass_seconds(15 * DAY)
        found = [one for one in find_leftovers(places) if one.kind is Kind.BLOB]
        again = begin(world)
        take(world, again, b"first")
        for leftover in found:
            leftover.remove()
        commit(world, again, b"first")

    def test_killed_between_its_two_steps_it_leaves_nothing_to_rely_on(self, world: World, places: Places) -> None:
        """Bytes that are on their way out are lacking, and come back when they are sent."""
        upload = begin(world)
        take(world, upload, b"first")
        world.clock.pass_seconds(15 * DAY)
        assert announce_removal(places, digest(b"first"), world.clock())
        again = begin(world)
        asked = world.database.write(uploads.lacking, world.state, world.admin, again, [digest(b"first")])
        assert asked.lacking == [digest(b"first")]
        take(world, again, b"first")
        finish_removal(places, digest(b"first"))
        commit(world, again, b"first")


def test_uploads_deletions_and_clean_ups_at_once(world: World, places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    """Time leaps by weeks, everything that may go goes at once, and every version that was confirmed is whole."""
    monkeypatch.setattr(repacking, "MIN_UNUSED_BYTES", 1)
    pool = [f"chunk {number}".encode() * 50 for number in range(30)]
    made: dict[str, list[bytes]] = {}
    problems: list[BaseException] = []

    def many_times(work: Callable[[random.Random], None], seed: int) -> threading.Thread:
        def run() -> None:
            chance = random.Random(seed)
            try:
                for _ in range(15):
                    work(chance)
            except BaseException as problem:
                problems.append(problem)

        thread = threading.Thread(target=run)
        thread.start()
        return thread

    def upload(chance: random.Random) -> None:
        chunks = chance.sample(pool, 5)
        own = begin(world, f"m{chance.randrange(3)}")
        for _ in range(20):
            try:
                wanted = [digest(data) for data in chunks]
                lacking = world.database.write(uploads.lacking, world.state, world.admin, own, wanted).lacking
                take(world, own, *(data for data in chunks if digest(data) in lacking))
                made[commit(world, own, *chunks)] = chunks
                return
            except NotFound:
                own = begin(world, "again")  # weeks have passed since it began
            except (Conflict, Unavailable):
                pass  # bytes went between the question and the commit, or while they were written: send them again

    def tidy(chance: random.Random) -> None:
        world.clock.pass_seconds(chance.choice([1, 15 * DAY]))
        clean(places)
        if len(made) > 5:
            gone = chance.choice(list(made))
            del made[gone]
            operations.delete_version(world.state, world.admin, gone)

    threads = [many_times(upload, 1), many_times(upload, 2), many_times(tidy, 3)]
    for thread in threads:
        thread.join()
    assert problems == []
    world.clock.pass_seconds(40 * DAY)
    clean(places)
    assert made
    for version, chunks in made.items():
        packed = read(world, version, *chunks)
        assert all(data in packed for data in chunks)
