"""`client.templates`: saved fields of jobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Optional

from danlu.client.bodies import body
from danlu.client.files.paths import quote_part
from danlu.client.http import Http
from danlu.client.pages import pages
from danlu.errors import NotFound
from danlu.wire.saved.templates import SaveTemplate, TemplateOut


class Templates:
    def __init__(self, http: Http) -> None:
        self._http = http

    def list(self) -> Iterator[TemplateOut]:
        """Your own templates, and those shared in your projects."""
        return pages(self._http, "/templates", TemplateOut)

    def get(self, name_or_id: str) -> TemplateOut:
        """Return a template by id or by name: your own first, else the newest shared one."""
        found = [one for one in self.list() if name_or_id in (one.id, one.name)]
        if not found:
            raise NotFound(f"no template {name_or_id!r}; `danlu templates ls` shows them")
        return max(found, key=lambda one: (one.id == name_or_id, one.is_yours, one.changed_at))

    def save(
        self, name: str, spec: Mapping[str, Any], *, project: Optional[str] = None, is_shared: bool = False
    ) -> TemplateOut:
        """Save fields of a job. Replaces your template of that name in that project.

        client.templates.save("8 NPUs", {"resources": {"device": "npu:8"}, "launch": "ascend"}, is_shared=True)
        """
        made = body(SaveTemplate, name=name, project=project, is_shared=is_shared, spec=dict(spec))
        return self._http.post("/templates", TemplateOut, body=made)

    def delete(self, template_id: str) -> None:
        self._http.send("DELETE", f"/templates/{quote_part(template_id)}")
