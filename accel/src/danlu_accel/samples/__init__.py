"""Samples of any fields: tars in WebDataset's format, lines of text or JSON, and image records, read in place.

Indexing: index_samples. Packing: pack_samples. Training: SampleLoader, over one data set or several mixed by weight.
Names are imported on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from danlu_accel.samples.audio import Audio as Audio
    from danlu_accel.samples.collate import pad as pad
    from danlu_accel.samples.index import SampleIndex as SampleIndex
    from danlu_accel.samples.index import read_sample_index as read_sample_index
    from danlu_accel.samples.indexing import index_samples as index_samples
    from danlu_accel.samples.loader import SampleLoader as SampleLoader
    from danlu_accel.samples.loader import SampleSource as SampleSource
    from danlu_accel.samples.recipe import SampleRecipe as SampleRecipe
    from danlu_accel.samples.writing import pack_samples as pack_samples

_HOME = {
    "audio": ["Audio"],
    "collate": ["pad"],
    "index": ["SampleIndex", "read_sample_index"],
    "indexing": ["index_samples"],
    "loader": ["SampleLoader", "SampleSource"],
    "recipe": ["SampleRecipe"],
    "writing": ["pack_samples"],
}
_WHERE = {name: module for module, names in _HOME.items() for name in names}
__all__ = sorted(_WHERE)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"danlu_accel.samples has no {name!r}")
    return getattr(import_module(f"danlu_accel.samples.{_WHERE[name]}"), name)
