"""One of the data sets that a loader reads, or mixes with others: where its shards are, and in which order it comes."""

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
    """Things that are counted from 0, a known number of them in each shard."""

    shard_sizes: tuple[int, ...]
    """How many things each shard gives."""
    window_shards: int

    @property
    @abstractmethod
    def name_of_data(self) -> str:
        """A digest of which thing is which; the same for a data set here and its copy behind a URL."""

    @property
    @abstractmethod
    def files(self) -> OpenFiles:
        """The shards."""

    @abstractmethod
    def describe(self) -> str:
        """Say in a line what this is and where it lies."""

    def _open_storage(self, path: Name, options: LoaderOptions) -> Path:
        """Find out where an index lies; return its path here."""
        folder_name, _, file = str(path).rpartition("/")
        if folder_name.startswith(("http://", "https://")):
            file = unquote(file)  # its name; what is asked for is quoted again
        self._storage: Storage = storage_for(folder_name or ".", options.cache_dir, options.cache_bytes)
        default = REMOTE_WINDOW_SHARDS if self._storage.is_remote else 0
        self.window_shards = default if options.window_shards is None else options.window_shards
        return self._storage.prepare(file) / file

    def __len__(self) -> int:
        return sum(self.shard_sizes)

    def order(self, seed: int, epoch: int, shuffle: bool) -> Order:
        return Order(len(self), seed, epoch, shuffle, self.shard_sizes, self.window_shards)

    def follow(self, order: Order, position: int, *, goes_on: bool) -> None:
        """Begin to fetch what the order wants from `position` on; `goes_on`: and what later epochs want after it."""
        self._storage.follow(order, position, goes_on=goes_on)

    def wait_for(self, numbers: Numbers, epochs: Numbers) -> None:
        """Return when the shards of these things are here; `epochs`: in which epoch of the set each is wanted."""
        if not self._storage.is_remote:
            return
        for epoch in np.unique(epochs).tolist():
            self._storage.wait_for(np.unique(self.shards_of(numbers[epochs == epoch])).tolist(), epoch)

    def shards_of(self, numbers: Numbers) -> Numbers:
        """Return the shard of each of these things."""
        return np.searchsorted(np.cumsum(self.shard_sizes), numbers, side="right")

    def numbers(self, ordinals: Numbers, seed: int, shuffle: bool) -> Numbers:
        """Return which things come at these places of the set's own stream, which goes from epoch to epoch."""
        numbers = np.empty_like(ordinals)
        epochs, positions = np.divmod(ordinals, len(self))
        for epoch in np.unique(epochs).tolist():
            chosen = epochs == epoch
            numbers[chosen] = self.order(seed, epoch, shuffle).records(positions[chosen])
        return numbers

    def close(self) -> None:
        self.files.close()
        self._storage.close()
