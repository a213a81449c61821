"""The endpoints of a job."""

from __future__ import annotations

from typing import Union

from danlu.client.files.paths import quote_part
from danlu.client.http import Http
from danlu.wire.endpoints import EndpointLinkOut, EndpointOut, EndpointsOut, OpenEndpoint


class Endpoints:
    """Ports of a job that a browser reaches while it runs."""

    def __init__(self, http: Http, job_id: str) -> None:
        self._http = http
        self._path = f"/jobs/{job_id}/endpoints"

    def list(self) -> list[EndpointOut]:
        """What is open, in the order in which it was opened."""
        return self._http.get(self._path, EndpointsOut).items

    def open(self, name: Union[str, int], *, is_shared: bool = False) -> EndpointOut:
        """Open an endpoint, or change who may use it. Shared ones are for all who may submit to the job's project."""
        return self._http.put(
            f"{self._path}/{quote_part(str(name))}", EndpointOut, body=OpenEndpoint(is_shared=is_shared)
        )

    def link(self, name: Union[str, int]) -> EndpointLinkOut:
        """A link that lets one browser in, for a minute. It is for you alone."""
        return self._http.post(f"{self._path}/{quote_part(str(name))}/links", EndpointLinkOut)

    def close(self, name: Union[str, int]) -> None:
        """Close an endpoint. Quiet when it is not open."""
        self._http.send("DELETE", f"{self._path}/{quote_part(str(name))}")
