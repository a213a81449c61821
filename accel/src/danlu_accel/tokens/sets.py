"""One data set of tokens, opened: where its shards are, what its sequences are, and in which order they come."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from danlu_accel.records.files import Name
from danlu_accel.records.options import LoaderOptions
from danlu_accel.records.order import Order
from danlu_accel.records.storage import storage_for
from danlu_accel.tokens.index import read_token_index
from danlu_accel.tokens.reading import TokenFiles
from danlu_accel.tokens.sequences import Packing, Runs, positions_of, sequences_of

REMOTE_WINDOW_SHARDS = 4
Numbers = npt.NDArray[np.int64]


class TokenSet:
    def __init__(self, path: Name, packing: Packing, options: LoaderOptions) -> None:
        folder_name, _, file = str(path).rpartition("/")
        self._storage = storage_for(folder_name or ".", options.cache_dir, options.cache_bytes)
        folder = self._storage.prepare(file)
        self.index = read_token_index(folder / file)
        self.sequences = sequences_of(self.index, packing)
        self._files = TokenFiles(folder, self.index, verify=options.verify, fetch_again=self._storage.fetch_again)
        self._storage.use(self.index.shards, self._files.files.forget)
        default = REMOTE_WINDOW_SHARDS if self._storage.is_remote else 0
        self.window_shards = default if options.window_shards is None else options.window_shards

    def __len__(self) -> int:
        return self.sequences.num_sequences

    def order(self, seed: int, epoch: int, shuffle: bool) -> Order:
        return Order(len(self), seed, epoch, shuffle, self.sequences.shard_sizes, self.window_shards)

    def follow(self, order: Order, position: int) -> None:
        """Begin to fetch what the order wants from `position` on."""
        self._storage.follow(order, position)

    def numbers(self, ordinals: Numbers, seed: int, shuffle: bool) -> Numbers:
        """Return which sequences come at these places of the set's own stream, which goes from epoch to epoch."""
        numbers = np.empty_like(ordinals)
        epochs, positions = np.divmod(ordinals, len(self))
        for epoch in np.unique(epochs).tolist():
            chosen = epochs == epoch
            numbers[chosen] = self.order(seed, epoch, shuffle).records(positions[chosen])
        return numbers

    def read(self, runs: Runs, tokens: npt.NDArray[Any], positions: npt.NDArray[Any] | None) -> None:
        """Write these runs to `tokens`, and to `positions` their places in their documents; both are flat."""
        self._storage.wait_for(np.unique(runs.shard).tolist())
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

    def close(self) -> None:
        self._files.close()
        self._storage.close()
