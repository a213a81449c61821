"""Blobs that share an object: what arrives together is stored together, and the database says where each blob is.

An object per blob would cost more than its bytes: a file and a wait for the disk, or a request to a service.
A pack never changes. Clean-up moves what is still in use to another one when most of it is not (`upkeep/repacking.py`).
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, cast

from sqlalchemy import Table, select
from sqlalchemy.orm import Session

from danlu.content import packs as content_packs
from danlu.errors import BadChecksum, Unavailable
from danlu.store.objects.base import Bytes
from danlu.store.sql.pack_tables import BlobPackRow, BlobPlaceRow
from danlu.store.sql.upsert import insert_into

MAX_READ_BYTES = 16 << 20
"""Neighbours in a pack are read at once, up to this size."""

_AT_A_TIME = 500


class Part(NamedTuple):
    """Where in a pack a blob is."""

    start: int
    size: int


class Pack:
    """Bytes to store as one object, and where in them each digest is."""

    def __init__(self, data: Bytes, parts: Mapping[str, Part]) -> None:
        self.id = uuid.uuid4().hex
        self.data = data
        self.parts = parts

    def sizes(self) -> dict[str, int]:
        return {digest: part.size for digest, part in self.parts.items()}

    def check(self) -> None:
        """Raise BadChecksum unless all bytes are those of their digests."""
        view = memoryview(self.data)
        for digest, part in self.parts.items():
            found = hashlib.sha256(view[part.start : part.start + part.size]).hexdigest()
            if found != digest:
                raise BadChecksum(f"blob {digest[:12]}: expected sha256 {digest}, got {found}; send it again")


def pack_of(blobs: Sequence[tuple[str, Bytes]]) -> Pack:
    """Put blobs into one pack, in the form in which clients send them."""
    header = content_packs.pack([{"sha256": digest, "size": len(data)} for digest, data in blobs], ())
    parts = parts_of([(digest, len(data)) for digest, data in blobs], start=len(header))
    return Pack(b"".join((header, *(data for _, data in blobs))), parts)


def read_stored(data: Bytes) -> Pack:
    """A pack as it is stored. Raise BadChecksum unless it is whole and its own header names its bytes."""
    try:
        header, rest = content_packs.unpack(data)
        parts = parts_of([(str(one["sha256"]), int(one["size"])) for one in header], start=len(data) - len(rest))
    except (ValueError, KeyError, TypeError) as error:
        raise BadChecksum(f"the header of the pack is damaged: {error}") from error
    pack = Pack(data, parts)
    pack.check()
    return pack


def parts_of(sizes: Iterable[tuple[str, int]], *, start: int) -> dict[str, Part]:
    """Where blobs are that lie one behind the other."""
    parts = {}
    for digest, size in sizes:
        parts[digest] = Part(start, size)
        start += size
    return parts


class Place(NamedTuple):
    pack: str
    start: int
    size: int


class Run(NamedTuple):
    """Neighbours in a pack, to be read at once."""

    pack: str
    start: int
    size: int
    parts: list[tuple[str, int]]
    """Digests and sizes, in order."""


def announce(session: Session, pack: Pack, at: datetime) -> None:
    """Record that a pack is about to be written, so that clean-up finds it if nothing follows."""
    session.add(BlobPackRow(id=pack.id, size=sum(pack.sizes().values()), added_at=at))
    session.flush()


def add_places(session: Session, pack: Pack) -> None:
    """Record that a pack is stored. Blobs that are elsewhere already stay there: a backup may say so."""
    if session.get(BlobPackRow, pack.id) is None:
        raise Unavailable("the upload took longer than a day, and clean-up removed its bytes; send them again")
    rows = [
        {"digest": digest, "pack": pack.id, "start": part.start, "size": part.size}
        for digest, part in pack.parts.items()
    ]
    session.execute(insert_into(session, cast(Table, BlobPlaceRow.__table__)).on_conflict_do_nothing(), rows)


def places_of(session: Session, digests: Iterable[str]) -> dict[str, Place]:
    """Where these blobs are, of those that are in packs."""
    wanted = sorted(set(digests))
    found: dict[str, Place] = {}
    for first in range(0, len(wanted), _AT_A_TIME):
        query = select(BlobPlaceRow.digest, BlobPlaceRow.pack, BlobPlaceRow.start, BlobPlaceRow.size).where(
            BlobPlaceRow.digest.in_(wanted[first : first + _AT_A_TIME])
        )
        found.update((row.digest, Place(row.pack, row.start, row.size)) for row in session.execute(query))
    return found


def runs_of(places: Mapping[str, Place]) -> Sequence[Run]:
    """The reads that bring all of them."""
    runs: list[Run] = []
    for digest, place in sorted(places.items(), key=lambda one: one[1]):
        last = runs[-1] if runs else None
        is_next = last is not None and (last.pack, last.start + last.size) == (place.pack, place.start)
        if last is not None and is_next and last.size + place.size <= MAX_READ_BYTES:
            runs[-1] = last._replace(size=last.size + place.size, parts=[*last.parts, (digest, place.size)])
        else:
            runs.append(Run(place.pack, place.start, place.size, [(digest, place.size)]))
    return runs
