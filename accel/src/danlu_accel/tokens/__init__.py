"""Token records: pack documents of tokens into shards for the training of language models.

Packing: pack_tokens. Training: TokenLoader, over one data set or several mixed by weight. Names are imported on first
use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from danlu_accel.tokens.index import TokenIndex as TokenIndex
    from danlu_accel.tokens.index import read_token_index as read_token_index
    from danlu_accel.tokens.loader import TokenBatch as TokenBatch
    from danlu_accel.tokens.loader import TokenLoader as TokenLoader
    from danlu_accel.tokens.loader import TokenSource as TokenSource
    from danlu_accel.tokens.sequences import Packing as Packing
    from danlu_accel.tokens.sequences import TooLong as TooLong
    from danlu_accel.tokens.writing import documents_in as documents_in
    from danlu_accel.tokens.writing import pack_tokens as pack_tokens

_HOME = {
    "index": ["TokenIndex", "read_token_index"],
    "loader": ["TokenBatch", "TokenLoader", "TokenSource"],
    "sequences": ["Packing", "TooLong"],
    "writing": ["documents_in", "pack_tokens"],
}
_WHERE = {name: module for module, names in _HOME.items() for name in names}
__all__ = sorted(_WHERE)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"danlu_accel.tokens has no {name!r}")
    return getattr(import_module(f"danlu_accel.tokens.{_WHERE[name]}"), name)
