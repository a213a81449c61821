"""Clean-up of packs: one without blobs is removed, and what is left of one that is mostly unused moves to another."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import timedelta

from sqlalchemy import func, or_, select, update
from sqlalchemy.orm import Session

from danlu.errors import BadChecksum
from danlu.store.objects import packed
from danlu.store.objects.packed import Pack
from danlu.store.sql.pack_tables import BlobPackRow, BlobPlaceRow
from danlu.store.upkeep.leftovers import Kind, Leftover, Places

log = logging.getLogger(__name__)

NEW = timedelta(days=1)
"""A pack that is being uploaded has no places yet."""

REPLACED = timedelta(days=7)
"""How long a pack stays from which the rest has moved: the rows of a backup may still name it."""

MIN_UNUSED_BYTES = 64 << 10
"""Less is not worth a new object."""


def unused_packs(places: Places) -> Iterator[Leftover]:
    used = func.coalesce(func.sum(BlobPlaceRow.size), 0)
    unused = BlobPackRow.size - used
    is_mostly_unused = (unused >= MIN_UNUSED_BYTES) & (unused * 2 >= BlobPackRow.size)
    now = places.now()
    query = (
        select(BlobPackRow.id, BlobPackRow.size, used)
        .outerjoin(BlobPlaceRow, BlobPlaceRow.pack == BlobPackRow.id)
        .where(
            BlobPackRow.added_at < now - NEW,
            or_(BlobPackRow.replaced_at.is_(None), BlobPackRow.replaced_at < now - REPLACED),
        )
        .group_by(BlobPackRow.id, BlobPackRow.size)
        .having((used == 0) | is_mostly_unused)
        .order_by(BlobPackRow.id)
    )
    with places.database.reading() as session:
        found = session.execute(query).all()
    for pack_id, size, num_used in found:

        def remove(pack_id: str = pack_id) -> None:
            if not _remove_if_empty(places, pack_id):
                _repack(places, pack_id)

        yield Leftover(Kind.PACK, pack_id, size - int(num_used), remove)  # PostgreSQL's sums are Decimal


def _remove_if_empty(places: Places, pack_id: str) -> bool:
    """Whether nothing is left to do. Another clean-up may have been here since the pack was found."""
    with places.database.writing() as session:
        row = session.get(BlobPackRow, pack_id)
        if row is None or (row.replaced_at is not None and row.replaced_at >= places.now() - REPLACED):
            return True
        if _digests_in(session, pack_id):
            return False
        session.delete(row)
        session.flush()
        places.blobs.delete_pack(pack_id)
    return True


def _repack(places: Places, old: str) -> None:
    """Move what is still in use to a new pack. If the server is killed, clean-up begins again."""
    digests = places.database.read(_digests_in, old)
    blobs = places.blobs.read_many(digests, packed.MAX_READ_BYTES)
    if any(data is None for data in blobs):
        log.warning("the pack %s is damaged: %s of its blobs cannot be read", old, blobs.count(None))
        return
    new = packed.pack_of([(digest, data) for digest, data in zip(digests, blobs, strict=True) if data is not None])
    places.database.write(packed.announce, new, places.now())
    try:
        places.blobs.put_pack(new)
    except BadChecksum as error:
        log.warning("the pack %s is damaged: %s", old, error)
        return
    with places.database.writing() as session:
        _move(session, old, new)
        row = session.get(BlobPackRow, old)
        if row is not None:  # another clean-up may have removed it
            row.replaced_at = places.now()


def _digests_in(session: Session, pack_id: str) -> list[str]:
    query = select(BlobPlaceRow.digest).where(BlobPlaceRow.pack == pack_id).order_by(BlobPlaceRow.start)
    return list(session.scalars(query))


def _move(session: Session, old: str, new: Pack) -> None:
    """The new pack is now the place of what is still in the old one: some of it may have been removed or sent again."""
    for digest, part in new.parts.items():
        session.execute(
            update(BlobPlaceRow)
            .where(BlobPlaceRow.digest == digest, BlobPlaceRow.pack == old)
            .values(pack=new.id, start=part.start)
        )
