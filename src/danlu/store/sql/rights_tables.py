"""Tables that access rights depend on, in addition to members and owners: invitations, trees, used names."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey, Index, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from danlu.store.sql.tables import Base


class InvitationRow(Base):
    """A pending invitation to a project, until it is answered or expires."""

    __tablename__ = "invitations"
    __table_args__ = (UniqueConstraint("project_id", "name"), Index("invitations_by_user", "user_id"))

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"))
    name: Mapped[str] = mapped_column(String(100))
    """Name as the owner entered it. The owner does not learn whether such a user exists."""

    user_id: Mapped[int | None] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    """The user of that name when it was sent; None if there was none. A later user of that name is not invited."""

    role: Mapped[str] = mapped_column(String(20))
    invited_by: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]


class TreeRow(Base):
    """A tree that a project may use: when it was stored, the project had all of its files."""

    __tablename__ = "trees"

    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"), primary_key=True)
    digest: Mapped[str] = mapped_column(String(64), primary_key=True, index=True)
    added_at: Mapped[datetime]


class UsedNameRow(Base):
    """A name of something that was deleted or renamed."""

    __tablename__ = "used_names"

    kind: Mapped[str] = mapped_column(String(12), primary_key=True)
    """`project`: name of a project. `place`: place of a deleted bucket in the object store."""

    name: Mapped[str] = mapped_column(String(100), primary_key=True)
    project_id: Mapped[int | None]
    """The project that had it. No foreign key: the row outlives the project."""

    at: Mapped[datetime]


class UsedVersionRow(Base):
    """The last version number of a deleted artifact or model: the next version of that name continues from it."""

    __tablename__ = "used_versions"

    kind: Mapped[str] = mapped_column(String(12), primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"), primary_key=True)
    name: Mapped[str] = mapped_column(String(200), primary_key=True)
    last_version: Mapped[int]
