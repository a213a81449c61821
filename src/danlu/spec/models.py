"""Models: their names, ids, and how versions are named."""

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
"""Formats that people commonly say; any other word will do."""

_NAME = re.compile(r"[^\W_][\w.-]{0,99}")
_ALIAS = re.compile(r"[^\W\d_][\w.-]{0,59}")
_FORMAT = re.compile(r"[a-z0-9][a-z0-9_.+-]{0,59}", re.ASCII)
_VERSION_ID = re.compile(r"mv-[a-z2-7]{26}")


class Named(NamedTuple):
    """`name`, `name:3`, `name:latest` or `name:champion`, with `project/` before it or not, taken apart."""

    name: str
    version: str = LATEST
    project: Optional[str] = None

    def __str__(self) -> str:
        before = "" if self.project is None else f"{self.project}/"
        return f"{before}{self.name}:{self.version}"


def is_version_id(text: str) -> bool:
    return _VERSION_ID.fullmatch(text) is not None


def check_model_name(name: str) -> str:
    """Return the name, or raise ValueError that says what would be right."""
    if not _NAME.fullmatch(name) or is_version_id(name):
        raise ValueError(
            f"{name[:80]!r} cannot be the name of a model; up to 100 letters, digits, dots, dashes and underscores "
            "would be right, such as mnist-cnn"
        )
    return name


def check_alias(alias: str) -> str:
    if not _ALIAS.fullmatch(alias) or alias == LATEST or number_of(alias) is not None:
        raise ValueError(
            f"{alias[:80]!r} cannot be an alias; a letter and up to 59 letters, digits, dots, dashes and underscores "
            "would be right, such as champion; latest is always the newest version, v3 the third"
        )
    return alias


def check_format(text: str) -> str:
    """The format in small letters; empty when it is not said."""
    lower = text.strip().lower()
    if lower and not _FORMAT.fullmatch(lower):
        raise ValueError(f"{text[:80]!r} is not a format; one word would be right, such as {', '.join(FORMATS[:4])}")
    return lower


def parse_named(text: str) -> Named:
    """Read what names a version of a model. Raise ValueError that says what would be right."""
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
            raise ValueError(f"{text[:120]!r}: a version is a number, latest or an alias, such as {name}:3") from None
    return Named(name, which, project)


def number_of(version: str) -> Optional[int]:
    """3 for `3` and for `v3`; None for anything else."""
    digits = version[1:] if version[:1] in ("v", "V") else version
    is_number = digits.isascii() and digits.isdigit() and len(digits) < 10
    return int(digits) if is_number else None


def model_node(version_id: str) -> NodeRef:
    return NodeRef(NodeKind.MODEL, version_id)
