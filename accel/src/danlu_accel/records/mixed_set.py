"""Base class of the data sets of a loader, alone or mixed with others: location of the shards, and their order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt

from danlu_accel.records.files import Name
from danlu_accel.records.open_files import OpenFiles
from danlu_accel.records.options import LoaderOptions
from danlu_accel.records.order import Order
from danlu_accel.records.storage import Storage, storage_for

REMOTE_WINDOW_SHARDS = 4
Numbers = npt.NDArray[np.int64]


class MixedSet(ABC):
    """A data set of samples or sequences, numbered from 0, with a known number in each shard."""

    shard_sizes: tuple[int, ...]
    """Number of samples or sequences in each shard."""
    window_shards: int

    @property
    @abstractmethod
    def name_of_data(self) -> str:
        """A digest of the content and its order; the same for a local data set and its copy behind a URL."""

    @property
    @abstractmethod
    def files(self) -> OpenFiles:
        """The shards."""

    @abstractmethod
    def describe(self) -> str:
        """Describe this data set and its location in a line."""

    def _open_storage(self, path: Name, options: LoaderOptions) -> Path:
        """Open the storage of an index; return the index's local path."""
        folder_name, _, file = str(path).rpartition("/")
        if folder_name.startswith(("http://", "https://")):
            file = unquote(file)  # its name; requests quote it again
        self._storage: Storage = storage_for(folder_name or ".", options.cache_dir, options.cache_bytes)
        default = REMOTE_WINDOW_SHARDS if self._storage.is_remote else 0
        self.window_shards = default if options.window_shards is None else options.window_shards
        return self._storage.prepare(file) / file

    def __len__(self) -> int:
        return sum(self.shard_sizes)

    def order(self, seed: int, epoch: int, shuffle: bool) -> Order:
        return Order(len(self), seed, epoch, shuffle, self.shard_sizes, self.window_shards)

    def follow(self, order: Order, position: int, *, goes_on: bool) -> None:
        """Start to fetch in the given order from `position` on; `goes_on`: continue with later epochs."""
        self._storage.follow(order, position, goes_on=goes_on)

    def wait_for(self, numbers: Numbers, epochs: Numbers) -> None:
        """Wait until the shards of `numbers` are available; `epochs`: the epoch of the set in which each is used."""
        if not self._storage.is_remote:
            return
        for epoch in np.unique(epochs).tolist():
            self._storage.wait_for(np.unique(self.shards_of(numbers[epochs == epoch])).tolist(), epoch)

    def shards_of(self, numbers: Numbers) -> Numbers:
        """Return the shard of each number."""
        return np.searchsorted(np.cumsum(self.shard_sizes), numbers, side="right")

    def numbers(self, ordinals: Numbers, seed: int, shuffle: bool) -> Numbers:
        """Return the numbers at these places of the set's own stream, which runs through all epochs."""
        numbers = np.empty_like(ordinals)
        epochs, positions = np.divmod(ordinals, len(self))
        for epoch in np.unique(epochs).tolist():
            chosen = epochs == epoch
            numbers[chosen] = self.order(seed, epoch, shuffle).records(positions[chosen])
        return numbers

    def close(self) -> None:
        self.files.close()
        self._storage.close()
