"""Models: names, ids, and references to versions."""

from __future__ import annotations

import re
from typing import NamedTuple, Optional

from danlu.spec.flow import NodeKind, NodeRef

LATEST = "latest"
FORMATS = (
    "pytorch",
    "torch_script",
    "safetensors",
    "onnx",
    "saved_model",
    "frozen_graph",
    "mindspore",
    "detectron2",
    "mmdetection",
    "hugging_face",
    "pmml",
)
"""Common formats; any other word is allowed."""

_NAME = re.compile(r"[^\W_][\w.-]{0,99}")
_ALIAS = re.compile(r"[^\W\d_][\w.-]{0,59}")
_FORMAT = re.compile(r"[a-z0-9][a-z0-9_.+-]{0,59}", re.ASCII)
_VERSION_ID = re.compile(r"mv-[a-z2-7]{26}")


class Named(NamedTuple):
    """A parsed `[project/]name[:version]`, where version is a number, `latest` or an alias."""

    name: str
    version: str = LATEST
    project: Optional[str] = None

    def __str__(self) -> str:
        before = "" if self.project is None else f"{self.project}/"
        return f"{before}{self.name}:{self.version}"


def is_version_id(text: str) -> bool:
    return _VERSION_ID.fullmatch(text) is not None


def check_model_name(name: str) -> str:
    """Return the name, or raise ValueError."""
    if not _NAME.fullmatch(name) or is_version_id(name):
        raise ValueError(
            "expected a model name of up to 100 letters, digits, dots, dashes and underscores, such as mnist-cnn, "
            f"got {name[:80]!r}"
        )
    return name


def check_alias(alias: str) -> str:
    if not _ALIAS.fullmatch(alias) or alias == LATEST or number_of(alias) is not None:
        raise ValueError(
            "expected an alias of a letter and up to 59 letters, digits, dots, dashes and underscores, such as "
            f"champion, got {alias[:80]!r}; latest and v3 are reserved for the newest and the third version"
        )
    return alias


def check_format(text: str) -> str:
    """Return the format in lower case; empty stays empty. Raise ValueError."""
    lower = text.strip().lower()
    if lower and not _FORMAT.fullmatch(lower):
        raise ValueError(f"expected a format of one word, such as {', '.join(FORMATS[:4])}, got {text[:80]!r}")
    return lower


def parse_named(text: str) -> Named:
    """Parse a reference to a model version. Raise ValueError."""
    before, slash, rest = text.rpartition("/")
    name, colon, which = rest.partition(":")
    check_model_name(name)
    project = before if slash else None
    if not colon:
        return Named(name, project=project)
    if number_of(which) is None and which != LATEST:
        try:
            check_alias(which)
        except ValueError:
            raise ValueError(
                f"expected a number, latest or an alias as version, such as {name}:3, got {text[:120]!r}"
            ) from None
    return Named(name, which, project)


def number_of(version: str) -> Optional[int]:
    """Version number: 3 for `3` and for `v3`; None for other text."""
    digits = version[1:] if version[:1] in ("v", "V") else version
    is_number = digits.isascii() and digits.isdigit() and len(digits) < 10
    return int(digits) if is_number else None


def model_node(version_id: str) -> NodeRef:
    return NodeRef(NodeKind.MODEL, version_id)
