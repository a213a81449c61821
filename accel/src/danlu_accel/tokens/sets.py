"""An open data set of tokens: its shards, its sequences, and their order."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from danlu_accel.records.files import Name
from danlu_accel.records.mixed_set import MixedSet
from danlu_accel.records.open_files import OpenFiles
from danlu_accel.records.options import LoaderOptions
from danlu_accel.tokens.index import read_token_index
from danlu_accel.tokens.reading import TokenFiles
from danlu_accel.tokens.sequences import Packing, Runs, positions_of, sequences_of


class TokenSet(MixedSet):
    def __init__(self, path: Name, packing: Packing, options: LoaderOptions) -> None:
        local = self._open_storage(path, options)
        self.index = read_token_index(local)
        self.sequences = sequences_of(self.index, packing)
        self.shard_sizes = self.sequences.shard_sizes
        fetch_again = self._storage.fetch_again
        self._files = TokenFiles(local.parent, self.index, verify=options.verify, fetch_again=fetch_again)
        self._storage.use(self.index.shards, self.files.forget)

    @property
    def name_of_data(self) -> str:
        return self.index.name_of_data

    @property
    def files(self) -> OpenFiles:
        return self._files.files

    def read(self, runs: Runs, tokens: npt.NDArray[Any], positions: npt.NDArray[Any] | None) -> None:
        """Write these runs to `tokens`, and their positions in their documents to `positions`; both are flat."""
        self._files.read(runs, tokens)
        if positions is not None:
            positions_of(self.index, runs, positions)

    def describe(self) -> str:
        num_tokens = sum(self.index.tokens)
        filled = num_tokens / (len(self) * self.sequences.length)
        return (
            f"{num_tokens} tokens of {len(self.index.lengths)} documents in {len(self)} sequences, {filled:.1%} filled"
            f", {len(self.index.shards)} shards {self._storage.describe()}"
        )
