"""`client.projects`: projects, their members and their buckets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Optional

from danlu.client.bodies import body
from danlu.client.files.paths import quote_part
from danlu.client.http import Http
from danlu.client.pages import pages
from danlu.wire.projects import ChangeProject, MakeProject, ProjectOut, ProjectSummary, SetMember


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
        """Keep it to be looked at; nothing in it can be changed then."""
        return self._change(name, body(ChangeProject, is_archived=True))

    def unarchive(self, name: str) -> ProjectOut:
        return self._change(name, body(ChangeProject, is_archived=False))

    def delete(self, name: str) -> None:
        """Only when nothing is in it; the error says what is."""
        self._http.send("DELETE", _path(name))

    def set_member(self, name: str, user: str, role: str = "member") -> ProjectOut:
        """Add somebody, or change their role: owner, member or viewer."""
        path = f"{_path(name)}/members/{quote_part(user)}"
        return self._http.put(path, ProjectOut, body=body(SetMember, role=role))

    def remove_member(self, name: str, user: str) -> None:
        self._http.send("DELETE", f"{_path(name)}/members/{quote_part(user)}")

    def _change(self, name: str, made: ChangeProject) -> ProjectOut:
        return self._http.patch(_path(name), ProjectOut, body=made)


def _path(name: str) -> str:
    return f"/projects/{quote_part(name)}"
