"""`client.quotas`: quotas of projects and their members, and holdings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Optional, Union
from urllib.parse import quote

from danlu.client.http import Http
from danlu.wire.quotas import QuotasOut, SetQuotas

Amounts = Mapping[str, Union[float, str]]


class Quotas:
    def __init__(self, http: Http) -> None:
        self._http = http

    def get(self, project: str) -> QuotasOut:
        return self._http.get(_path(project), QuotasOut)

    def set(
        self, project: str, quota: Optional[Amounts] = None, *, users: Optional[Mapping[str, Amounts]] = None
    ) -> QuotasOut:
        """Replace the quota of the project, of some of its users, or both; resources that are not named get no limit.

        client.quotas.set("vision", {"npu": 64, "memory": "2TB"}, users={"ann": {"npu": 16}})
        """
        body = SetQuotas(
            project=None if quota is None else dict(quota),
            users={name: dict(amounts) for name, amounts in (users or {}).items()},
        )
        return self._http.put(_path(project), QuotasOut, body=body)

    def change(
        self, project: str, quota: Mapping[str, Union[float, str, None]], *, user: Optional[str] = None
    ) -> QuotasOut:
        """Change the named resources in the quota of the project or of one of its users; None removes a limit.

        client.quotas.change("vision", {"npu": 64, "memory": None})
        """
        found = self.get(project)
        lines = found.quotas
        if user is not None:
            lines = next((one.quotas for one in found.users if one.user == user), [])
        before = {line.resource: line.quota for line in lines}
        after = {name: amount for name, amount in {**before, **quota}.items() if amount is not None}
        return self.set(project, users={user: after}) if user is not None else self.set(project, after)


def _path(project: str) -> str:
    return f"/projects/{quote(project, safe='')}/quotas"
