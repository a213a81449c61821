"""Build packs from ranges of journals: first the bytes, then the index."""

from __future__ import annotations

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from danlu.journal.format import FILE_HEADER_BYTES, FRAME_HEADER_BYTES, MAX_PAYLOAD_BYTES
from danlu.store.metrics.decode import BranchKey, SeriesKey, Stretch, decode
from danlu.store.metrics.ingest import layouts_of
from danlu.store.metrics.journals import Journals
from danlu.store.metrics.packs import Packs, Placed, encode_pack
from danlu.store.sql.database import Database, num_changed
from danlu.store.sql.run_tables import ChunkRow, JournalRow, SeriesRow

PACK_BYTES = 4 << 20
"""Length of the range of a pack. A shorter rest is read from the journal."""

LONGEST_FRAME = FILE_HEADER_BYTES + FRAME_HEADER_BYTES + MAX_PAYLOAD_BYTES


def is_due(journal: JournalRow, pack_bytes: int = PACK_BYTES) -> bool:
    return journal.ingested - journal.built >= pack_bytes


def build_next(
    database: Database,
    journals: Journals,
    packs: Packs,
    journal: JournalRow,
    run_id: str,
    *,
    pack_bytes: int = PACK_BYTES,
) -> bool:
    """Build the next pack of a journal; False if another server has, or data is missing. Interruptible at any time."""
    start = journal.built
    # fixed length and offset, so that every server builds the same pack
    for length in (pack_bytes, LONGEST_FRAME):
        data = journals.read(run_id, journal.name, start, start + length)
        stretch = decode(data, start, layouts_of(journal), journal.built_branch)
        if stretch.end > start or journal.ingested - start < LONGEST_FRAME:
            break
    if stretch.end <= start:
        return False  # the next frame is long and incomplete; wait for more data
    encoded, placed = encode_pack(stretch.points)
    if placed:
        packs.put(run_id, journal.name, start, encoded)
    return database.write(_store_pack, journal, stretch, placed)


def _store_pack(session: Session, journal: JournalRow, stretch: Stretch, placed: dict[BranchKey, Placed]) -> bool:
    run, name, start = journal.run, journal.name, journal.built
    statement = update(JournalRow).where(JournalRow.run == run, JournalRow.name == name, JournalRow.built == start)
    if num_changed(session, statement.values(built=stretch.end, built_branch=stretch.branch)) != 1:
        return False
    rows = session.scalars(select(SeriesRow).where(SeriesRow.run == run))
    series = {SeriesKey(row.type, row.name): row.id for row in rows}
    for key, chunk in placed.items():
        steps = stretch.points[key].steps
        session.add(
            ChunkRow(
                series=series[key.series],
                journal=name,
                start=start,
                branch=key.branch,
                at=chunk.at,
                num_points=chunk.num_points,
                num_thin=chunk.num_thin,
                low_step=int(steps.min()),
                high_step=int(steps.max()),
            )
        )
    return True
