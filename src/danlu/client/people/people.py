"""`client.people`: users and registrations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Optional

from danlu.client.bodies import body
from danlu.client.files.paths import quote_part
from danlu.client.http import Http
from danlu.client.pages import pages
from danlu.errors import Conflict, NotFound
from danlu.wire.people import (
    Approve,
    ChangeUser,
    Disable,
    Invite,
    LinkOut,
    MakeLink,
    Register,
    RegisteredOut,
    RegistrationOut,
    UserOut,
)


class People:
    def __init__(self, http: Http) -> None:
        self._http = http

    def register(
        self, name: str, password: str, *, full_name: str = "", email: str = "", note: str = ""
    ) -> RegisteredOut:
        """Request an account. Needs no key."""
        made = body(Register, name=name, password=password, full_name=full_name, email=email, note=note)
        return self._http.post("/registrations", RegisteredOut, body=made)

    def list(self) -> Iterator[UserOut]:
        """All users for admins; other users see themselves and the members of their projects."""
        return pages(self._http, "/users", UserOut)

    def get(self, name: str) -> UserOut:
        return self._http.get(_path(name), UserOut)

    def waiting(self) -> Iterator[RegistrationOut]:
        """Pending registrations; for admins."""
        return pages(self._http, "/registrations", RegistrationOut)

    def approve(
        self,
        who: str,
        *,
        name: Optional[str] = None,
        project: Optional[str] = None,
        role: str = "member",
        link: Optional[str] = None,
    ) -> UserOut:
        """Approve a registration by its id, or by its name if that is unique."""
        made = body(Approve, name=name, project=project, role=role, link=link)
        path = f"/registrations/{quote_part(self._registration(who))}/approve"
        return self._http.post(path, UserOut, body=made)

    def reject(self, who: str) -> None:
        self._http.send("DELETE", f"/registrations/{quote_part(self._registration(who))}")

    def invite(
        self,
        name: str,
        *,
        full_name: str = "",
        email: str = "",
        is_admin: bool = False,
        project: Optional[str] = None,
        role: str = "member",
    ) -> LinkOut:
        """Create an account. The returned link signs in once, within a day."""
        made = body(Invite, name=name, full_name=full_name, email=email, is_admin=is_admin, project=project, role=role)
        return self._http.post("/users", LinkOut, body=made)

    def change(
        self,
        name: str,
        *,
        full_name: Optional[str] = None,
        email: Optional[str] = None,
        is_admin: Optional[bool] = None,
    ) -> UserOut:
        made = body(ChangeUser, full_name=full_name, email=email, is_admin=is_admin)
        return self._http.patch(_path(name), UserOut, body=made)

    def disable(self, name: str, *, stops_jobs: bool = False) -> UserOut:
        """Revoke the user's sessions, links and keys at once. Jobs keep running unless `stops_jobs`."""
        made = body(Disable, stops_jobs=stops_jobs)
        return self._http.post(f"{_path(name)}/disable", UserOut, body=made, is_repeatable=True)

    def enable(self, name: str) -> UserOut:
        return self._http.post(f"{_path(name)}/enable", UserOut, is_repeatable=True)

    def reset(self, name: str, *, ends_access: bool = False) -> LinkOut:
        """Return a link with which the user signs in once and sets a new password."""
        return self._http.post(f"{_path(name)}/link", LinkOut, body=body(MakeLink, ends_access=ends_access))

    def _registration(self, who: str) -> str:
        found = [one for one in self.waiting() if who in (one.id, one.name)]
        exact = [one for one in found if one.id == who] or found
        if not exact:
            raise NotFound(f"no pending registration for {who!r}; `danlu users ls` lists them")
        if len(exact) > 1:
            ids = ", ".join(one.id for one in exact)
            raise Conflict(f"{len(exact)} registrations have the name {who!r}; choose one by id: {ids}")
        return exact[0].id


def _path(name: str) -> str:
    return f"/users/{quote_part(name)}"
