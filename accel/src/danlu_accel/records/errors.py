"""Everything that can go wrong with records, as one small tree.

RecordError
├── BadRecordFile      a shard or an index is not what it says it is
├── BrokenImage        one image cannot be decoded
├── BadImageList       an image list, a label map or an annotation file cannot be used
├── UnknownTransform   boxes cannot follow a transform that is not known
├── StaleIterator      an iteration over a loader cannot go on
└── Unavailable        something optional is needed here and not installed
"""

from __future__ import annotations


class RecordError(Exception):
    """The root: catch this to catch all of them."""


class BadRecordFile(RecordError):
    """A shard or an index is damaged, too new, or no such file at all."""


class BrokenImage(RecordError):
    """An image that Pillow cannot load either."""


class BadImageList(RecordError):
    """An image list, label map or annotation file with a line that makes no sense."""


class UnknownTransform(RecordError):
    """A data set with boxes was given a transform that is no Recipe and no Compose of known transforms."""


class StaleIterator(RecordError):
    """The loader was closed, moved or iterated anew since, or this is another process; begin a new iteration."""


class Unavailable(RecordError):
    """An optional part is missing; the message says how to get it."""
