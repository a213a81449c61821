"""SampleLoader: batches of samples of any fields, read directly from tars, lines or packed images."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NamedTuple, Union

import numpy as np

from danlu_accel.records import native
from danlu_accel.records.buffers import BatchMemory, Pixels, empty_image
from danlu_accel.records.draws import Keys, keys_of
from danlu_accel.records.errors import BadRecordFile
from danlu_accel.records.files import Name
from danlu_accel.records.native import Status
from danlu_accel.records.options import LoaderOptions, num_cores, wants_pinned
from danlu_accel.records.order import Step
from danlu_accel.records.pillow_path import render_into
from danlu_accel.records.recipe import Recipe
from danlu_accel.records.stream_loader import StreamLoader, Things
from danlu_accel.samples.collate import collate
from danlu_accel.samples.decoding import DAMAGE, decode_field
from danlu_accel.samples.recipe import Sample, SampleRecipe
from danlu_accel.samples.sets import SampleSet, open_set


@dataclass(frozen=True)
class SampleSource:
    """One of several data sets to mix."""

    path: Name
    weight: float = 1.0
    """Share of all samples, relative to the weights of the others; exact to 1/4096."""


class _Wanted(NamedTuple):
    step: Step
    things: Things
    seeds: Keys


class _UnderWay(NamedTuple):
    wanted: _Wanted
    rooms: dict[str, Pixels]
    """Memory for the images of an unfinished batch, by field."""
    parts: list[Future[list[Any]]]


class SampleLoader(StreamLoader[SampleSet, Any]):
    """Iterate over batches of samples, from one data set or several mixed by weight."""

    kind = "samples"
    things = "samples"

    def __init__(
        self,
        source: Union[Name, Sequence[SampleSource]],
        recipe: SampleRecipe | None = None,
        *,
        batch_size: int = 32,
        shuffle: bool = True,
        epoch_samples: int | None = None,
        options: LoaderOptions | None = None,
    ) -> None:
        """`source`: path or URL (s3://, https://) of a `.samples` or `.index`, or several SampleSource.

        `epoch_samples`: length of an epoch of a mixture; None: the total of its sets. Each set has its own epochs
        meanwhile. With a single data set an epoch is always the whole data set.
        """
        options = options or LoaderOptions()
        sources = [SampleSource(source)] if isinstance(source, (str, os.PathLike)) else list(source)
        super().__init__(
            [open_set(each.path, options) for each in sources],
            [each.weight for each in sources],
            batch_size=batch_size,
            shuffle=shuffle,
            epoch_length=epoch_samples,
            options=options,
        )
        self.recipe = recipe or SampleRecipe()
        wanted = max(each.read_ahead for each in self._sets) if options.read_ahead is None else options.read_ahead
        self._threads = max(options.threads or num_cores(), wanted)
        self._image_recipes = self._recipes_of_images(options.channels_last)
        self._native_recipes = {}
        if native.core is not None:
            self._native_recipes = {name: native.to_native(each) for name, each in self._image_recipes.items()}
        self._memory: dict[str, BatchMemory] = {}
        if self.recipe.transform is None and self.recipe.collate is None:
            pinned = wants_pinned(options)
            self._memory = {name: BatchMemory(each, batch_size, pinned) for name, each in self._image_recipes.items()}

    def explain(self) -> str:
        """Describe in a few lines what is read and how."""
        images = f"; {', '.join(self._image_recipes)}: {native.advice()}" if self._image_recipes else ""
        checks = "checksums verified" if self._options.verify else "checksums NOT verified"
        return self._explain(f"{self._threads} Python threads, {checks}{images}")

    def _own_state(self) -> dict[str, Any]:
        return {}

    def _recipes_of_images(self, channels_last: bool) -> dict[str, Recipe]:
        found: dict[str, Recipe] = {}
        names = self.recipe.fields or dict.fromkeys(name for each in self._sets for name in each.fields)
        for name in names:
            decoder = self.recipe.decoder_of(name)
            if isinstance(decoder, Recipe):
                found[name] = replace(decoder, channels_last=True) if channels_last else decoder
        return found

    def _batches(self, iteration: int, pid: int) -> Iterator[Any]:
        self._require_current(iteration, pid)
        epoch, first = self._epoch, self._epoch * self._epoch_length
        self._follow(first + self._position)
        wanted = self._wanted(first)
        ahead: deque[_UnderWay] = deque()
        try:
            while True:
                self._fill(ahead, wanted)
                if not ahead:
                    break
                samples = [sample for part in ahead[0].parts for sample in part.result()]
                under_way = ahead.popleft()
                batch = self._joined(samples, under_way.rooms)
                position_after = under_way.wanted.step.position_after
                del samples, under_way
                self._position = position_after
                self._fill(ahead, wanted)  # the threads continue while the training loop works
                yield batch
                del batch  # else the memory of its images could not be reused
                self._require_current(iteration, pid)
        finally:  # the training loop may stop early, while threads still fill batches
            if os.getpid() == pid:
                wait([part for each in ahead for part in each.parts if not part.cancel()])
        self._epoch, self._position = epoch + 1, 0

    def _wanted(self, first: int) -> Iterator[_Wanted]:
        """Yield the rest of the epoch. The order of many samples is computed at a time, which is cheaper."""
        epoch = self._epoch
        for group in self._groups(1):
            things = self._things_of(group, first)
            seeds = keys_of(self._seed, epoch, np.concatenate([step.positions for step in group]))
            begin = 0
            for step in group:
                end = begin + len(step.positions)
                yield _Wanted(step, things.part(begin, end), seeds[begin:end])
                begin = end

    def _fill(self, ahead: deque[_UnderWay], steps: Iterator[_Wanted]) -> None:
        """Start batches until `prefetch` of them are under way, each in as many parts as there are threads."""
        for wanted in islice(steps, self._options.prefetch - len(ahead)):
            count = len(wanted.seeds)
            rooms = {name: memory.take(count) for name, memory in self._memory.items()}
            bounds = np.linspace(0, count, min(count, self._threads) + 1).astype(int).tolist()
            pool = self._ready_pool()
            parts = [pool.submit(self._make, wanted, rooms, part) for part in zip(bounds, bounds[1:])]
            ahead.append(_UnderWay(wanted, rooms, parts))

    def _make(self, wanted: _Wanted, rooms: dict[str, Pixels], part: tuple[int, int]) -> list[Any]:
        """Make a part of a batch. Runs in a thread."""
        things = wanted.things.part(*part)
        for number, each in enumerate(self._sets):
            chosen = things.sets == number
            each.wait_for(things.numbers[chosen], things.epochs[chosen])
        return [self._sample(wanted, rooms, row) for row in range(*part)]

    def _sample(self, wanted: _Wanted, rooms: dict[str, Pixels], row: int) -> Any:
        raw = self._sets[int(wanted.things.sets[row])].raw(int(wanted.things.numbers[row]), self.recipe.fields)
        seed = int(wanted.seeds[row])
        sample: Sample = {"__key__": raw.key}
        if self.recipe.transform is not None:
            sample["__seed__"] = seed
        missing = [name for name in self._image_recipes if name not in raw.fields]
        if missing:
            raise BadRecordFile(
                f"{raw.shard}: sample {raw.key!r}: expected the image {missing[0]!r}, it has {', '.join(raw.fields)}"
            )
        for name, data in raw.fields.items():
            try:
                sample[name] = self._value(name, data, rooms, row, seed)
            except DAMAGE as error:
                raise type(error)(f"{raw.shard}: sample {raw.key!r}, field {name!r}: {error}") from error
        return sample if self.recipe.transform is None else self.recipe.transform(sample)

    def _value(self, name: str, data: memoryview, rooms: dict[str, Pixels], row: int, seed: int) -> Any:
        recipe = self._image_recipes.get(name)
        if recipe is None:
            decoder = self.recipe.decoder_of(name)
            if decoder is None or isinstance(decoder, Recipe):  # every Recipe is in _image_recipes
                return decode_field(name, data)
            return decoder(bytes(data))
        # A user's transform or collate function may keep what it gets, so it gets separate memory.
        out = rooms[name][row] if name in rooms else empty_image(recipe)
        made = self._native_recipes.get(name)
        if made is not None and native.core is not None:
            status, _ = native.core.load(data, made, seed, out.ctypes.data, out.nbytes)
            if status == Status.OK:
                return out
        render_into(out, data, recipe, seed)
        return out

    def _joined(self, samples: list[Any], rooms: dict[str, Pixels]) -> Any:
        if self.recipe.collate is not None:
            return self.recipe.collate(samples)
        if self.recipe.transform is not None:
            return collate(samples)
        for sample in samples:
            for name in rooms:  # already in the batch
                del sample[name]
        images = {name: self._memory[name].as_images(room) for name, room in rooms.items()}
        return {**collate(samples), **images}
