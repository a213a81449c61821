"""One error tree, the same on both sides of the wire; each class knows its HTTP status.

    DanluError
    ├── InvalidInput        422  a field has a value that cannot be used
    │   └── InvalidSpec     422  ... in a job spec
    ├── NotSignedIn         401  no credentials, or credentials that are not known
    ├── NotAllowed          403  signed in, but this is not yours
    ├── NotFound            404  no such thing, or not visible to you
    ├── Conflict            409  right request, wrong moment
    │   ├── WrongState      409  ... the job's state does not allow it
    │   └── AlreadyExists   409
    ├── RequestTimeout      408  the request did not arrive in time
    ├── TooLarge            413
    ├── RangeNotSatisfiable 416  the asked bytes are beyond the end
    ├── BadChecksum         422  bytes arrived that are not what was announced
    ├── TooManyRequests     429
    ├── Unsupported         501  this server, engine or node cannot do that
    │   ├── UnknownEngine   501
    │   └── MissingExtra    501
    ├── Unavailable         503  try again later
    │   ├── EngineUnavailable 503
    │   └── ServerUnreachable 503  raised by the client only
    └── StorageFull         507

On the wire every failure is `{"error": "<class>", "message": "...", "fields": {...}}`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar, Optional


class DanluError(Exception):
    """Base of all errors that Danlu raises on purpose."""

    status: ClassVar[int] = 500

    def __init__(self, message: str, *, fields: Optional[Mapping[str, str]] = None) -> None:
        super().__init__(message)
        self.message = message
        self.fields = dict(fields or {})

    def to_wire(self) -> dict[str, object]:
        """Return the JSON body that the server sends for this error."""
        return {"error": type(self).__name__, "message": self.message, "fields": self.fields}


class InvalidInput(DanluError):
    status = 422


class InvalidSpec(InvalidInput):
    pass


class BadChecksum(InvalidInput):
    pass


class NotSignedIn(DanluError):
    status = 401


class NotAllowed(DanluError):
    status = 403


class NotFound(DanluError):
    status = 404


class Conflict(DanluError):
    status = 409


class WrongState(Conflict):
    pass


class AlreadyExists(Conflict):
    pass


class RequestTimeout(DanluError):
    status = 408


class TooLarge(DanluError):
    status = 413


class RangeNotSatisfiable(DanluError):
    status = 416


class TooManyRequests(DanluError):
    status = 429

    def __init__(
        self, message: str, *, fields: Optional[Mapping[str, str]] = None, retry_after_seconds: Optional[int] = None
    ) -> None:
        super().__init__(message, fields=fields)
        self.retry_after_seconds = retry_after_seconds
        """Whole seconds after which another try makes sense; the header Retry-After on the wire."""


class Unsupported(DanluError):
    status = 501


class UnknownEngine(Unsupported):
    pass


class MissingExtra(Unsupported):
    pass


class PortClosed(DanluError):
    status = 502


class Unavailable(DanluError):
    status = 503


class EngineUnavailable(Unavailable):
    pass


class EngineUnreachable(EngineUnavailable):
    """What an engine's cluster did not answer: it may have been done or not."""


class ServerUnreachable(Unavailable):
    pass


class StorageFull(DanluError):
    status = 507


def from_wire(body: object, status: int) -> DanluError:
    """Turn an error body back into the class that made it.

    A class this version does not know becomes the nearest known one by HTTP status.
    """
    if not isinstance(body, Mapping) or "message" not in body:
        return _for_status(status)(f"the server answered {status} without saying why")
    name = body.get("error")
    kind = next((known for known in all_errors() if known.__name__ == name), _for_status(status))
    fields = body.get("fields")
    return kind(str(body["message"]), fields=fields if isinstance(fields, Mapping) else None)


def all_errors() -> Iterator[type[DanluError]]:
    """Walk the tree, base first."""
    pending: list[type[DanluError]] = [DanluError]
    while pending:
        kind = pending.pop(0)
        yield kind
        pending.extend(kind.__subclasses__())


def _for_status(status: int) -> type[DanluError]:
    """400 is what foreign protocols say for what is 422 here."""
    wanted = InvalidInput.status if status == 400 else status
    return next((kind for kind in all_errors() if kind.status == wanted), DanluError)
