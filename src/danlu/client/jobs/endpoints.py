"""The endpoints of a job."""

from __future__ import annotations

from typing import Union

from danlu.client.files.paths import quote_part
from danlu.client.http import Http
from danlu.wire.endpoints import EndpointLinkOut, EndpointOut, EndpointsOut, OpenEndpoint


class Endpoints:
    """Ports of a running job that are opened in a browser."""

    def __init__(self, http: Http, job_id: str) -> None:
        self._http = http
        self._path = f"/jobs/{job_id}/endpoints"

    def list(self) -> list[EndpointOut]:
        """Open endpoints, in the order in which they were opened."""
        return self._http.get(self._path, EndpointsOut).items

    def open(self, name: Union[str, int], *, is_shared: bool = False) -> EndpointOut:
        """Open an endpoint, or change who may use it. Shared: all users who may submit jobs to the job's project."""
        return self._http.put(
            f"{self._path}/{quote_part(str(name))}", EndpointOut, body=OpenEndpoint(is_shared=is_shared)
        )

    def link(self, name: Union[str, int]) -> EndpointLinkOut:
        """Return a link that signs in one browser and is valid for a minute. For yourself only."""
        return self._http.post(f"{self._path}/{quote_part(str(name))}/links", EndpointLinkOut)

    def close(self, name: Union[str, int]) -> None:
        """Close an endpoint. Idempotent."""
        self._http.send("DELETE", f"{self._path}/{quote_part(str(name))}")
