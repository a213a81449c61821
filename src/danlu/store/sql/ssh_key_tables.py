"""Table of SSH keys."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from danlu.store.sql.tables import Base


class SshKeyRow(Base):
    """A public key for SSH access to jobs. Two users may register the same key: a key alone gives no rights."""

    __tablename__ = "ssh_keys"

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    """SHA-256 of the key."""

    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    name: Mapped[str] = mapped_column(String(100))
    kind: Mapped[str] = mapped_column(String(60))
    created_at: Mapped[datetime]
    last_used_at: Mapped[datetime | None]
