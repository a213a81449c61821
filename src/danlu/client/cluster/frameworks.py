"""`client.frameworks`: named environments of jobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Optional

from danlu.client.bodies import body
from danlu.client.files.paths import quote_part
from danlu.client.http import Http
from danlu.client.pages import pages
from danlu.wire.frameworks import ChangeFramework, FrameworkOut, MakeFramework


class Frameworks:
    """Named environments that jobs select with `framework`. All users see them, admins change them."""

    def __init__(self, http: Http) -> None:
        self._http = http

    def list(self) -> Iterator[FrameworkOut]:
        return pages(self._http, "/frameworks", FrameworkOut)

    def get(self, name: str) -> FrameworkOut:
        """Raises NotFound."""
        return self._http.get(_path(name), FrameworkOut)

    def add(
        self,
        name: str,
        *,
        title: Optional[str] = None,
        image: Optional[str] = None,
        setup: Optional[str] = None,
        env: Optional[Mapping[str, object]] = None,
        launch: Sequence[str] = (),
        **more: Any,
    ) -> FrameworkOut:
        """Add a framework: an image or, without one, the node's own Python.

        client.frameworks.add("pytorch-2.13", image="registry.example.com/torch:2.13", launch=["plain", "ddp"])

        More: `description`; `purpose="inference"` for one that registered models run in.
        """
        made = body(
            MakeFramework,
            name=name,
            title=title,
            image=image,
            setup=setup,
            env=None if env is None else dict(env),
            launch=tuple(launch),
            **more,
        )
        return self._http.post("/frameworks", FrameworkOut, body=made)

    def change(self, name: str, **changes: Any) -> FrameworkOut:
        """Change fields of `add`, or `is_enabled`; omitted ones stay. `image=""` selects the node's own Python.

        Submitted jobs are not affected.
        """
        return self._http.patch(_path(name), FrameworkOut, body=body(ChangeFramework, **changes))

    def enable(self, name: str) -> FrameworkOut:
        return self.change(name, is_enabled=True)

    def disable(self, name: str) -> FrameworkOut:
        """Reject it in new jobs; existing jobs keep it."""
        return self.change(name, is_enabled=False)

    def remove(self, name: str) -> None:
        """Delete it. Jobs that use it keep their stored copy."""
        self._http.send("DELETE", _path(name))


def _path(name: str) -> str:
    return f"/frameworks/{quote_part(name)}"
