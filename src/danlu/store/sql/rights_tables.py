"""The tables that rights hang on beside members and owners: invitations, trees of code, names that were used."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey, Index, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from danlu.store.sql.tables import Base


class InvitationRow(Base):
    """An invitation to a project. It ends with an answer, or when it expires."""

    __tablename__ = "invitations"
    __table_args__ = (UniqueConstraint("project_id", "name"), Index("invitations_by_user", "user_id"))

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"))
    name: Mapped[str] = mapped_column(String(100))
    """As the owner wrote it. Who invites does not learn whether there is such a person."""

    user_id: Mapped[int | None] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    """The user of that name when it was sent; None if there was none. A later user of the name is not invited."""

    role: Mapped[str] = mapped_column(String(20))
    invited_by: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]


class TreeRow(Base):
    """A folder of code that a project has: all of its files were the project's when it was stored."""

    __tablename__ = "trees"

    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"), primary_key=True)
    digest: Mapped[str] = mapped_column(String(64), primary_key=True, index=True)
    added_at: Mapped[datetime]


class UsedNameRow(Base):
    """A name that something had which is gone, or is called otherwise now."""

    __tablename__ = "used_names"

    kind: Mapped[str] = mapped_column(String(12), primary_key=True)
    """`project`: the name of a project. `place`: where the objects of a bucket lay."""

    name: Mapped[str] = mapped_column(String(100), primary_key=True)
    project_id: Mapped[int | None]
    """Whose it was. No foreign key: it outlives the project."""

    at: Mapped[datetime]


class UsedVersionRow(Base):
    """The last version number of a deleted artifact or model: the next version of that name continues from it."""

    __tablename__ = "used_versions"

    kind: Mapped[str] = mapped_column(String(12), primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"), primary_key=True)
    name: Mapped[str] = mapped_column(String(200), primary_key=True)
    last_version: Mapped[int]
