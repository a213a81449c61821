"""`client.quotas`: how much a project and its people may hold, and how much is in use."""

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
        """Set the quota of the project, of some of its users, or both; a resource that is not named has no limit.

        client.quotas.set("vision", {"npu": 64, "memory": "2TB"}, users={"ann": {"npu": 16}})
        """
        body = SetQuotas(
            project=None if quota is None else dict(quota),
            users={name: dict(amounts) for name, amounts in (users or {}).items()},
        )
        return self._http.put(_path(project), QuotasOut, body=body)


def _path(project: str) -> str:
    return f"/projects/{quote(project, safe='')}/quotas"
