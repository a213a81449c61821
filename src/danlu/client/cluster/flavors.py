"""`client.flavors`: machine shapes with prices."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any, List, Optional, Union  # noqa: UP035

from danlu.client.bodies import body
from danlu.client.files.paths import quote_part
from danlu.client.http import Http
from danlu.client.pages import pages
from danlu.wire.flavors import ChangeFlavor, FlavorOut, MakeFlavor

Amount = Union[str, int, float, Decimal]


class Flavors:
    """Named machine shapes that jobs select with `flavor`. All users see them, admins change them.

    for flavor in client.flavors.list():
        print(flavor.name, flavor.device, flavor.price_per_hour, flavor.currency, flavor.num_free)
    """

    def __init__(self, http: Http) -> None:
        self._http = http

    def list(self) -> Iterator[FlavorOut]:
        return pages(self._http, "/flavors", FlavorOut)

    def get(self, name: str) -> FlavorOut:
        """Raises NotFound."""
        return self._http.get(_path(name), FlavorOut)

    def add(
        self,
        name: str,
        *,
        device: Optional[str] = None,
        cpus: Optional[float] = None,
        memory: Union[str, int, None] = None,
        price_per_hour: Optional[Amount] = None,
        description: Optional[str] = None,
        is_enabled: Optional[bool] = None,
    ) -> FlavorOut:
        """Add a flavor. The price is per node and hour; pass it as text, so that it is exact.

        client.flavors.add("npu-8", device="npu:910b:8", cpus=96, memory="512GiB", price_per_hour="98.50")
        """
        made = body(
            MakeFlavor,
            name=name,
            device=device,
            cpus=cpus,
            memory=memory,
            price_per_hour=price_per_hour,
            description=description,
            is_enabled=is_enabled,
        )
        return self._http.post("/flavors", FlavorOut, body=made)

    def change(self, name: str, **changes: Any) -> FlavorOut:
        """Change fields of `add`; omitted ones stay. `cpus=0` and `memory=0` reserve nothing.

        Submitted jobs keep their shape and their price.
        """
        return self._http.patch(_path(name), FlavorOut, body=body(ChangeFlavor, **changes))

    def enable(self, name: str) -> FlavorOut:
        return self.change(name, is_enabled=True)

    def disable(self, name: str) -> FlavorOut:
        """Reject it in new jobs; existing jobs keep it."""
        return self.change(name, is_enabled=False)

    def remove(self, name: str) -> None:
        """Delete it. Jobs that use it keep their stored copy."""
        self._http.send("DELETE", _path(name))

    def suggestions(self) -> List[FlavorOut]:  # noqa: UP006  `list` is the method here
        """Suggest flavors for the existing nodes that do not exist yet, without prices. For admins."""
        return [*pages(self._http, "/flavor-suggestions", FlavorOut)]


def _path(name: str) -> str:
    return f"/flavors/{quote_part(name)}"
