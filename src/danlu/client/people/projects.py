"""`client.projects`: projects, their members and their buckets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Optional

from danlu.client.bodies import body
from danlu.client.files.paths import quote_part
from danlu.client.http import Http
from danlu.client.pages import pages
from danlu.errors import NotFound
from danlu.wire.auth import SetDefaultProject
from danlu.wire.projects import (
    ChangeProject,
    InvitationOut,
    InviteMember,
    MakeProject,
    ProjectOut,
    ProjectSummary,
    SetMember,
)


class Projects:
    def __init__(self, http: Http) -> None:
        self._http = http

    def list(self) -> Iterator[ProjectSummary]:
        return pages(self._http, "/projects", ProjectSummary)

    def get(self, name: str) -> ProjectOut:
        return self._http.get(_path(name), ProjectOut)

    def make(self, name: str, *, description: str = "", owner: Optional[str] = None) -> ProjectOut:
        made = body(MakeProject, name=name, description=description, owner=owner)
        return self._http.post("/projects", ProjectOut, body=made)

    def rename(self, name: str, new_name: str) -> ProjectOut:
        return self._change(name, body(ChangeProject, name=new_name))

    def describe(self, name: str, description: str) -> ProjectOut:
        return self._change(name, body(ChangeProject, description=description))

    def archive(self, name: str) -> ProjectOut:
        """Make a project read-only."""
        return self._change(name, body(ChangeProject, is_archived=True))

    def unarchive(self, name: str) -> ProjectOut:
        return self._change(name, body(ChangeProject, is_archived=False))

    def delete(self, name: str) -> None:
        """Delete an empty project; the error lists what it contains."""
        self._http.send("DELETE", _path(name))

    def invite(self, name: str, user: str, role: str = "member") -> InvitationOut:
        """Invite a user. The response does not reveal whether the user exists."""
        made = body(InviteMember, user=user, role=role)
        return self._http.post(f"{_path(name)}/invitations", InvitationOut, body=made)

    def invitations(self, name: Optional[str] = None) -> Iterator[InvitationOut]:
        """Invitations to a project, for its owners; without a name, your own."""
        path = "/invitations" if name is None else f"{_path(name)}/invitations"
        return pages(self._http, path, InvitationOut)

    def withdraw(self, name: str, user: str) -> None:
        """Withdraw an invitation."""
        self._http.send("DELETE", f"{_path(name)}/invitations/{quote_part(user)}")

    def accept(self, name: str) -> ProjectOut:
        """Accept an invitation, and so become a member."""
        return self._http.post(f"/invitations/{self._invitation(name)}/accept", ProjectOut)

    def decline(self, name: str) -> None:
        """Decline an invitation."""
        self._http.send("DELETE", f"/invitations/{self._invitation(name)}")

    def set_default(self, name: str) -> None:
        """Set the project for your jobs, buckets and runs that name none."""
        self._http.send("PUT", "/me/default-project", body=body(SetDefaultProject, project=name))

    def set_member(self, name: str, user: str, role: str = "member") -> ProjectOut:
        """Set the role of a member: owner, member or viewer. Admins can add any user this way; owners must invite."""
        path = f"{_path(name)}/members/{quote_part(user)}"
        return self._http.put(path, ProjectOut, body=body(SetMember, role=role))

    def remove_member(self, name: str, user: str) -> None:
        self._http.send("DELETE", f"{_path(name)}/members/{quote_part(user)}")

    def _invitation(self, name: str) -> str:
        found = next((one.id for one in self.invitations() if one.project == name), None)
        if found is None:
            raise NotFound(f"you are not invited to {name!r}; `danlu projects invitations` lists what you are")
        return found

    def _change(self, name: str, made: ChangeProject) -> ProjectOut:
        return self._http.patch(_path(name), ProjectOut, body=made)


def _path(name: str) -> str:
    return f"/projects/{quote_part(name)}"
