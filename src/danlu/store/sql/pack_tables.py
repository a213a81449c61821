"""Tables of packs: objects that hold many blobs, and where in them each blob is."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import BigInteger, ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from danlu.store.sql.tables import Base


class BlobPackRow(Base):
    """An object with the bytes of blobs that arrived together. It never changes."""

    __tablename__ = "blob_packs"

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    size: Mapped[int] = mapped_column(BigInteger)
    """Of its blobs."""

    added_at: Mapped[datetime]
    """Before its bytes are written: without places, a pack that is older than a day is a leftover."""

    replaced_at: Mapped[datetime | None]
    """When clean-up moved what was still in use to another pack. Backups from before need this one."""


class BlobPlaceRow(Base):
    """Where the bytes of a digest are. Without a row they are an object of their own."""

    __tablename__ = "blob_places"

    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    pack: Mapped[str] = mapped_column(ForeignKey("blob_packs.id"), index=True)
    start: Mapped[int] = mapped_column(BigInteger)
    size: Mapped[int] = mapped_column(BigInteger)
