"""Exceptions of image records.

RecordError
├── BadRecordFile      a shard or an index is damaged or unreadable
├── BrokenImage        one image cannot be decoded
├── BadImageList       an image list, a label map or an annotation file cannot be used
├── UnknownTransform   boxes cannot follow a transform that is not recognised
├── StaleIterator      an iteration over a loader is no longer valid
└── Unavailable        a required optional package is not installed
"""

from __future__ import annotations


class RecordError(Exception):
    """Base class."""


class BadRecordFile(RecordError):
    """A shard or an index is damaged, too new, or does not exist."""


class BrokenImage(RecordError):
    """Pillow cannot load an image either."""


class BadImageList(RecordError):
    """An image list, label map or annotation file has an invalid line."""


class UnknownTransform(RecordError):
    """A data set with boxes got a transform that is neither a Recipe nor a Compose of known transforms."""


class StaleIterator(RecordError):
    """The loader was closed, moved or iterated again, or this is another process. Start a new iteration."""


class Unavailable(RecordError):
    """An optional package is missing; the message says how to install it."""
