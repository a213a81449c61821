"""The XML that the object storage's SDK reads and writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from danlu.errors import InvalidInput

MARKER = ".keep"
"""An empty object of this name stands for an empty folder: keys of the store do not end in `/`."""

Node = str | int | Mapping[str, Any] | Sequence[Any] | None


class PartClaim(NamedTuple):
    """A part that the client claims to have sent."""

    number: int
    etag: str


def document(root: str, values: Mapping[str, Any]) -> bytes:
    """Values as elements: a mapping is an element with others in it, a list the same element several times."""
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{_element(root, values)}'.encode()


def parse_keys(body: bytes) -> list[str]:
    """The keys of a request to delete several objects."""
    return [_text(one, "Key") for one in _root(body, "Delete").iter("Object")]


def parse_parts(body: bytes) -> list[PartClaim]:
    """The parts of a request to complete an upload."""
    found = []
    for one in _root(body, "CompleteMultipartUpload").iter("Part"):
        number = _text(one, "PartNumber")
        if not (number.isascii() and number.isdigit()):
            raise InvalidInput(f"PartNumber: expected a number, got {number!r}")
        found.append(PartClaim(int(number), _text(one, "ETag").strip('"')))
    return found


def shown_key(key: str, size: int) -> str:
    """An object's key as the SDK sees it: the marker of an empty folder is shown as the folder."""
    return key[: -len(MARKER)] if size == 0 and key.endswith(f"/{MARKER}") else key


def stored_key(key: str) -> str:
    """The key in the store for a key of the SDK."""
    return f"{key}{MARKER}" if key.endswith("/") else key


def encoded(text: str, *, is_url: bool) -> str:
    """Encoded as the request's `encoding-type` says."""
    return quote(text, safe="/-_.~") if is_url else text


def _element(name: str, value: Node) -> str:
    if isinstance(value, Mapping):
        inner = "".join(_element(key, one) for key, one in value.items())
        return f"<{name}>{inner}</{name}>"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "".join(_element(name, one) for one in value)
    return f"<{name}>{escape('' if value is None else str(value))}</{name}>"


def _root(body: bytes, name: str) -> ElementTree.Element:
    if b"<!" in body:
        raise InvalidInput("the XML of a request has no declarations")
    try:
        root = ElementTree.fromstring(body)
    except ElementTree.ParseError as error:
        raise InvalidInput(f"the body is not XML: {error}") from error
    if root.tag != name:
        raise InvalidInput(f"expected <{name}>, got <{root.tag}>")
    return root


def _text(element: ElementTree.Element, name: str) -> str:
    found = element.findtext(name)
    if not found:
        raise InvalidInput(f"{name}: expected a text, got none")
    return found
