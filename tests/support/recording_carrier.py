"""A carrier that notes what is sent, on its way through another one."""

from __future__ import annotations

from contextlib import AbstractContextManager

from danlu.transfer.carrier import Answer, Carrier, Granted, Request


class RecordingCarrier:
    def __init__(self, carrier: Carrier) -> None:
        self._carrier = carrier
        self.reaches_services = carrier.reaches_services
        self.requests: list[Request] = []

    def num_bytes(self, start: str) -> int:
        """Of the bodies that were sent to paths that begin so."""
        sent = (one.body for one in self.requests if one.path.startswith(start))
        return sum(body.size for body in sent if body is not None)

    def open(self, request: Request) -> AbstractContextManager[Answer]:
        self.requests.append(request)
        return self._carrier.open(request)

    def open_granted(self, granted: Granted) -> AbstractContextManager[Answer]:
        return self._carrier.open_granted(granted)

    def close(self) -> None:
        self._carrier.close()
