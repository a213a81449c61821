"""Blobs that share an object: how they are stored, read, cleaned up, backed up and moved."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from sqlalchemy import event, select
from tests.support.databases import KINDS
from tests.support.world import World

from danlu.errors import BadChecksum, NotFound, Unavailable
from danlu.server.packs.operations import store_pack
from danlu.server.stores import cleaning_places
from danlu.server.trees.service import own_blob
from danlu.spec.paths import StorePath
from danlu.store.objects import blobs, packed
from danlu.store.objects.blobs import BUCKET, Blobs
from danlu.store.objects.local import LocalObjects
from danlu.store.objects.packed import Pack, Part, Place, pack_of, runs_of
from danlu.store.sql.pack_tables import BlobPackRow, BlobPlaceRow
from danlu.store.upkeep.backup import Stores
from danlu.store.upkeep.cleaning import announce_removal, find_leftovers, finish_removal
from danlu.store.upkeep.leftovers import Kind, Leftover, Places
from danlu.store.upkeep.moving import copy_objects

DAY = 86400
PROJECT = 1
ONE, TWO, THREE = b"1" * 100_000, b"2" * 100_000, b"3" * 100_000


@pytest.fixture(params=KINDS)
def database_kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def places(world: World) -> Places:
    return Places(**{**cleaning_places(world.settings, world.database).__dict__, "now": world.clock})


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def store(world: World, *contents: bytes) -> str:
    """Store a pack; return its id."""
    pack = pack_of([(digest(data), data) for data in contents])
    store_pack(world.state, pack, project_of=lambda _: PROJECT)
    return pack.id


def keep(world: World, *contents: bytes) -> None:
    """Let a manifest refer to these."""
    world.database.write(blobs.refer, PROJECT, [digest(data) for data in contents], +1)


def read(world: World, *contents: bytes) -> list[bytes | None]:
    found = world.state.blobs.read_many([digest(data) for data in contents], 1 << 20)
    return [None if data is None else bytes(data) for data in found]


def pack_files(world: World) -> dict[str, Path]:
    folder = world.settings.server_dir / BUCKET / "packs"
    return {path.name: path for path in folder.rglob("*") if path.is_file()}


def place_of(world: World, data: bytes) -> Place | None:
    return world.database.read(packed.places_of, [digest(data)]).get(digest(data))


def found_packs(places: Places) -> list[Leftover]:
    return [one for one in find_leftovers(places) if one.kind is Kind.PACK]


def remove_blobs(places: Places) -> list[Leftover]:
    """What clean-up does before it looks at packs."""
    found = [one for one in find_leftovers(places) if one.kind is Kind.BLOB]
    for one in found:
        one.remove()
    return found


def clean(places: Places) -> None:
    for leftover in find_leftovers(places):
        leftover.remove()


class TestStoring:
    def test_what_arrives_together_is_one_file(self, world: World) -> None:
        pack_id = store(world, ONE, TWO, b"")
        assert list(pack_files(world)) == [pack_id]
        assert read(world, TWO, b"", ONE) == [TWO, b"", ONE]
        assert b"".join(world.state.blobs.read(digest(TWO))) == TWO
        assert b"".join(world.state.blobs.read_checked(digest(ONE))) == ONE
        assert world.state.blobs.size(digest(TWO)) == len(TWO)

    def test_one_wrong_digest_stores_nothing(self, world: World) -> None:
        pack = pack_of([(digest(ONE), ONE), (digest(TWO), THREE)])
        with pytest.raises(BadChecksum, match=f"expected sha256 {digest(TWO)}"):
            store_pack(world.state, pack, project_of=lambda _: PROJECT)
        assert pack_files(world) == {}
        assert world.database.read(blobs.owned, [PROJECT], [digest(ONE), digest(TWO)]) == set()
        with pytest.raises(NotFound):
            world.state.blobs.read(digest(ONE))

    def test_a_part_outside_of_the_pack_is_refused(self, world: World) -> None:
        with pytest.raises(BadChecksum):
            world.state.blobs.put_pack(Pack(ONE, {digest(ONE): Part(1, len(ONE))}))

    def test_blobs_with_and_without_a_pack_are_read_together(self, world: World) -> None:
        store(world, ONE)
        world.state.blobs.put_bytes(digest(TWO), TWO)
        assert read(world, TWO, ONE, THREE) == [TWO, ONE, None]
        assert world.state.blobs.read_many([digest(ONE)], len(ONE) - 1) == [None], "it is larger"

    def test_a_blob_that_is_there_stays_where_it_is(self, world: World) -> None:
        first = store(world, ONE, TWO)
        store(world, TWO, THREE)
        place = place_of(world, TWO)
        assert place is not None
        assert place.pack == first, "a backup may say so"

    def test_neighbours_are_read_at_once(self) -> None:
        places = {"c": Place("p", 20, 10), "a": Place("p", 0, 10), "b": Place("p", 10, 10), "d": Place("q", 30, 1)}
        assert [(run.start, run.size, [name for name, _ in run.parts]) for run in runs_of(places)] == [
            (0, 30, ["a", "b", "c"]),
            (30, 1, ["d"]),
        ]

    def test_a_pack_that_is_cut_short_lacks_blobs_and_gives_no_wrong_ones(self, world: World) -> None:
        pack_id = store(world, ONE, TWO)
        file = pack_files(world)[pack_id]
        with file.open("r+b") as opened:
            opened.truncate(file.stat().st_size - 1)
        assert read(world, ONE, TWO) == [ONE, None]
        with pytest.raises(Unavailable, match="damaged"):
            list(world.state.blobs.read_checked(digest(TWO)))


class TestSendingWhatIsBeingRemoved:
    @pytest.fixture
    def announced(self, world: World, places: Places) -> str:
        """The digest of a blob in a pack whose removal has begun."""
        store(world, ONE, TWO)
        world.clock.pass_seconds(15 * DAY)
        assert announce_removal(places, digest(ONE), world.clock())
        return digest(ONE)

    def test_it_stays_when_it_arrives_before_the_end(self, world: World, places: Places, announced: str) -> None:
        store(world, ONE)
        finish_removal(places, announced)
        assert read(world, ONE) == [ONE]
        assert world.database.read(blobs.owned, [PROJECT], [announced]) == {announced}

    def test_it_is_stored_anew_when_it_arrives_after_the_end(
        self, world: World, places: Places, announced: str
    ) -> None:
        finish_removal(places, announced)
        assert read(world, ONE) == [None]
        store(world, ONE)
        assert read(world, ONE) == [ONE]


class TestCleaning:
    def test_one_that_another_clean_up_has_just_replaced_stays(self, world: World, places: Places) -> None:
        old = store(world, ONE, TWO, THREE)
        keep(world, TWO)
        world.clock.pass_seconds(15 * DAY)
        remove_blobs(places)
        (first,), (second,) = found_packs(places), found_packs(places)
        first.remove()
        second.remove()
        assert old in pack_files(world), "a backup that was made before may name it"
        assert read(world, TWO) == [TWO]

    def test_what_is_found_is_told_as_json(self, world: World, places: Places) -> None:
        store(world, ONE, TWO, THREE)
        keep(world, TWO)
        world.clock.pass_seconds(15 * DAY)
        assert {type(one.size) for one in remove_blobs(places)} == {int}
        assert [type(one.size) for one in found_packs(places)] == [int]

    def test_a_pack_goes_with_its_last_blob(self, world: World, places: Places) -> None:
        store(world, ONE, TWO)
        world.clock.pass_seconds(15 * DAY)
        clean(places)
        assert pack_files(world) == {}
        with world.database.reading() as session:
            assert session.scalars(select(BlobPackRow)).all() == []
            assert session.scalars(select(BlobPlaceRow)).all() == []

    def test_what_is_left_of_a_pack_moves_to_another(self, world: World, places: Places) -> None:
        old = store(world, ONE, TWO, THREE)
        keep(world, TWO)
        world.clock.pass_seconds(15 * DAY)
        clean(places)
        place = place_of(world, TWO)
        assert place is not None
        assert place.pack != old
        assert read(world, ONE, TWO, THREE) == [None, TWO, None]
        assert pack_files(world)[place.pack].stat().st_size < 2 * len(TWO)
        assert old in pack_files(world), "a backup that was made before may name it"
        world.clock.pass_seconds(8 * DAY)
        clean(places)
        assert list(pack_files(world)) == [place.pack]
        assert read(world, TWO) == [TWO]

    def test_one_that_is_mostly_needed_stays(self, world: World, places: Places) -> None:
        old = store(world, ONE, TWO, THREE)
        keep(world, ONE, TWO)
        world.clock.pass_seconds(15 * DAY)
        clean(places)
        assert list(pack_files(world)) == [old]
        assert found_packs(places) == []

    def test_one_that_is_being_uploaded_stays_for_a_day(self, world: World, places: Places) -> None:
        pack = pack_of([(digest(ONE), ONE)])
        world.database.write(packed.announce, pack, world.clock())
        world.state.blobs.put_pack(pack)
        assert found_packs(places) == []
        world.clock.pass_seconds(2 * DAY)
        assert [one.name for one in found_packs(places)] == [pack.id]
        clean(places)
        assert pack_files(world) == {}
        with pytest.raises(Unavailable, match="longer than a day"):
            world.database.write(packed.add_places, pack)

    def test_one_that_got_blobs_since_it_was_found_stays(self, world: World, places: Places) -> None:
        pack = pack_of([(digest(ONE), ONE)])
        world.database.write(packed.announce, pack, world.clock())
        world.state.blobs.put_pack(pack)
        world.clock.pass_seconds(2 * DAY)
        (found,) = found_packs(places)
        world.database.write(packed.add_places, pack)
        found.remove()
        assert read(world, ONE) == [ONE]

    def test_of_a_damaged_one_nothing_moves(
        self, world: World, places: Places, caplog: pytest.LogCaptureFixture
    ) -> None:
        old = store(world, ONE, TWO, THREE)
        keep(world, THREE)
        with pack_files(world)[old].open("r+b") as opened:
            opened.seek(-1, 2)
            opened.write(b"x")
        world.clock.pass_seconds(15 * DAY)
        clean(places)
        assert f"the pack {old} is damaged" in caplog.text
        place = place_of(world, THREE)
        assert place is not None
        assert place.pack == old, "an admin may still bring it back"

    def test_killed_before_places_are_moved_nothing_is_lost(
        self, world: World, places: Places, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        old = store(world, ONE, TWO, THREE)
        keep(world, TWO)
        world.clock.pass_seconds(15 * DAY)

        def dies(_: Blobs, __: Pack) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(Blobs, "put_pack", dies)
            with pytest.raises(KeyboardInterrupt):
                clean(places)
        assert read(world, TWO) == [TWO]
        world.clock.pass_seconds(2 * DAY)
        clean(places)
        place = place_of(world, TWO)
        assert place is not None
        assert place.pack != old
        assert read(world, TWO) == [TWO]


def test_a_move_to_another_store_that_broke_off_does_not_copy_packs_again(world: World, tmp_path: Path) -> None:
    pack_id = store(world, ONE, TWO)
    here = Stores(world.state.objects, LocalObjects(world.settings.server_dir))
    there = Stores(LocalObjects(tmp_path / "there"), LocalObjects(tmp_path / "inner"))
    assert copy_objects(world.database, here, there, lambda _: None).num_copied == 1
    again = copy_objects(world.database, here, there, lambda _: None)
    assert (again.num_copied, again.num_there) == (0, 1)
    moved = Blobs(there.inner, world.database)
    assert b"".join(moved.read(digest(TWO))) == TWO
    assert there.inner.stat(StorePath(BUCKET, f"packs/{pack_id[:2]}/{pack_id}")).size > len(ONE) + len(TWO)


def test_a_damaged_pack_is_not_moved_as_if_it_were_whole(world: World, tmp_path: Path) -> None:
    pack_id = store(world, ONE, TWO)
    with pack_files(world)[pack_id].open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"x")
    here = Stores(world.state.objects, LocalObjects(world.settings.server_dir))
    there = Stores(LocalObjects(tmp_path / "there"), LocalObjects(tmp_path / "inner"))
    with pytest.raises(BadChecksum, match=f"packs/{pack_id[:2]}/{pack_id}: .*expected sha256 {digest(TWO)}"):
        copy_objects(world.database, here, there, lambda _: None)


def test_a_writer_never_waits_for_a_second_connection(world: World) -> None:
    """On PostgreSQL all connections may be of those that wait for this writer."""
    world.state.blobs.put_bytes(digest(ONE), ONE)
    store(world, TWO)
    taken: list[int] = []
    pool = world.database.engine.pool
    with world.database.writing() as session:
        event.listen(pool, "checkout", lambda *_: taken.append(1))
        for data in (ONE, TWO):
            own_blob(session, world.state, PROJECT, digest(data))
    assert taken == []
