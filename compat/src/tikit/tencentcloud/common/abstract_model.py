"""Base class of request and response objects: attributes, and conversion from and to JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

M = TypeVar("M", bound="AbstractModel")


class AbstractModel:
    """An object with a fixed set of attributes, all None until they are set."""

    FIELDS: ClassVar[str] = ""
    """Names of the attributes."""

    NESTED: ClassVar[dict[str, type[AbstractModel]]] = {}
    """Attributes that are objects, or lists of objects, of these classes."""

    if TYPE_CHECKING:  # attributes are named in FIELDS

        def __getattr__(self, name: str) -> Any: ...

        def __setattr__(self, name: str, value: Any) -> None: ...

    def __init__(self) -> None:
        for name in self.FIELDS.split():
            setattr(self, name, None)

    @classmethod
    def new(cls: type[M], **values: Any) -> M:
        """Create an object with these attributes. Raises TypeError for an unknown name."""
        made = cls()
        for name, value in values.items():
            if name not in made.__dict__:
                raise TypeError(f"{cls.__name__} has no attribute {name!r}; known: {cls.FIELDS}")
            setattr(made, name, value)
        return made

    def to_json_string(self, *args: Any, **kwargs: Any) -> str:
        """Return JSON with all attributes, including those that are None. Arguments are passed to `json.dumps`."""
        return json.dumps(self._serialize(allow_none=True), *args, **{"ensure_ascii": False, **kwargs})

    def from_json_string(self, text: str) -> None:
        """Set the attributes named in the JSON; unknown names are ignored."""
        self._deserialize(json.loads(text))

    def _serialize(self, allow_none: bool = False) -> dict[str, Any]:
        found = {name: _plain(getattr(self, name), allow_none) for name in self.FIELDS.split()}
        return {name: value for name, value in found.items() if allow_none or value is not None}

    def _deserialize(self, params: dict[str, Any]) -> None:
        for name in self.FIELDS.split():
            if name in params:
                setattr(self, name, _object(params[name], self.NESTED.get(name)))

    def __repr__(self) -> str:
        return self.to_json_string()


def _plain(value: Any, allow_none: bool) -> Any:
    if isinstance(value, AbstractModel):
        return value._serialize(allow_none)
    if isinstance(value, list):
        return [_plain(one, allow_none) for one in value]
    return value


def _object(value: Any, of: Any) -> Any:
    if of is None or value is None:
        return value
    if isinstance(value, list):
        return [_object(one, of) for one in value]
    made = of()
    made._deserialize(value)
    return made
