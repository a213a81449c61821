"""One contract for all engines: how a batch is finished, refused, abandoned, and how the threads end."""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from danlu_accel.records import BadRecordFile, BrokenImage, LoaderOptions, Recipe, RecordLoader, StaleIterator, native
from danlu_accel.records.buffers import BatchMemory
from danlu_accel.records.draws import keys_of
from danlu_accel.records.engine import Engine, Wanted
from danlu_accel.records.example import encode_example
from danlu_accel.records.index import Index, index_shards
from danlu_accel.records.native_engine import NativeEngine
from danlu_accel.records.recipe import Crop
from danlu_accel.records.shards import ShardFiles
from danlu_accel.records.tfrecord import frame
from danlu_accel.records.thread_engines import PillowEngine, TransformEngine

RECIPE = Recipe(Crop.WHOLE, 20, 24)
NEEDS_CORE = pytest.mark.skipif(native.core is None, reason=native.advice())


def transform(picture: Image.Image) -> torch.Tensor:
    """What RECIPE does, as a callable."""
    pixels = np.asarray(picture.resize((24, 20), Image.Resampling.BILINEAR), np.float32)
    return torch.from_numpy(pixels / 255).permute(2, 0, 1)


def native_engine(shards: ShardFiles) -> Engine:
    return NativeEngine(shards, RECIPE, BatchMemory(RECIPE, 8, False), threads=2, read_ahead=0, verify=True)


def native_engine_with_readers(shards: ShardFiles) -> Engine:
    return NativeEngine(shards, RECIPE, BatchMemory(RECIPE, 8, False), threads=2, read_ahead=2, verify=True)


def pillow_engine(shards: ShardFiles) -> Engine:
    return PillowEngine(shards, RECIPE, BatchMemory(RECIPE, 8, False), 2)


def transform_engine(shards: ShardFiles) -> Engine:
    return TransformEngine(shards, transform, 2)


@pytest.fixture(
    params=[
        pytest.param(native_engine, marks=NEEDS_CORE),
        pytest.param(native_engine_with_readers, marks=NEEDS_CORE),
        pillow_engine,
        transform_engine,
    ]
)
def make_engine(request: pytest.FixtureRequest) -> Iterator[Callable[[ShardFiles], Engine]]:
    made: list[Engine] = []

    def make(shards: ShardFiles) -> Engine:
        made.append(request.param(shards))
        return made[-1]

    yield make
    for engine in made:
        engine.close()


@pytest.fixture
def shard(tmp_path: Path, photo: Callable[..., bytes]) -> Callable[..., tuple[Index, ShardFiles]]:
    """A shard of 8 records; those at `broken` are half an image."""

    def make(broken: tuple[int, ...] = ()) -> tuple[Index, ShardFiles]:
        with (tmp_path / "x.tfrecord").open("wb") as file:
            for number in range(8):
                image = photo(40, 30, seed=number)
                data = encode_example(
                    {"image/encoded": image[:300] if number in broken else image, "image/class/label": number}
                )
                head, foot = frame(data)
                file.writelines((head, data, foot))
        index = index_shards([tmp_path / "x.tfrecord"])
        return index, ShardFiles(tmp_path, index)

    return make


def all_of(index: Index) -> Wanted:
    records = np.arange(len(index.entries))
    return Wanted(records, index.entries, keys_of(0, 0, records))


def num_tasks() -> int:
    return len(os.listdir("/proc/self/task"))


class TestFinish:
    def test_images_are_pillows(self, make_engine: Any, shard: Any, photo: Callable[..., bytes]) -> None:
        index, shards = shard()
        made = make_engine(shards).start(all_of(index)).finish()
        expected = [transform(Image.open(io.BytesIO(photo(40, 30, seed=number)))) for number in range(8)]
        assert made.images.shape == (8, 3, 20, 24)
        assert float((made.images - torch.stack(expected)).abs().max()) <= 1.01 / 255

    def test_the_first_broken_record_is_named(self, make_engine: Any, shard: Any) -> None:
        index, shards = shard(broken=(6, 3))
        with pytest.raises(BrokenImage, match=r"record 3: .*; pack again with on_broken=list"):
            make_engine(shards).start(all_of(index)).finish()

    def test_the_batch_after_a_broken_one_is_whole(self, make_engine: Any, shard: Any) -> None:
        index, shards = shard(broken=(0,))
        engine = make_engine(shards)
        tickets = [engine.start(all_of(index)) for _ in range(3)]
        for ticket in tickets:
            with pytest.raises(BrokenImage, match="record 0"):
                ticket.finish()
        sound = Wanted(np.arange(1, 8), index.entries[1:], keys_of(0, 0, np.arange(1, 8)))
        assert engine.start(sound).finish().images.isfinite().all()

    def test_damage_is_told_before_anything_is_decoded(self, make_engine: Any, shard: Any, tmp_path: Path) -> None:
        index, _ = shard()
        raw = bytearray((tmp_path / "x.tfrecord").read_bytes())
        raw[len(raw) // 2] ^= 1
        (tmp_path / "x.tfrecord").write_bytes(bytes(raw))
        with pytest.raises(BadRecordFile, match="fails its checksum"):
            make_engine(ShardFiles(tmp_path, index)).start(all_of(index)).finish()


class TestClose:
    def test_threads_are_gone(self, make_engine: Any, shard: Any) -> None:
        index, shards = shard()
        before, tasks = threading.active_count(), num_tasks()
        engine = make_engine(shards)
        engine.start(all_of(index)).finish()
        engine.close()
        assert threading.active_count() == before
        if isinstance(engine, NativeEngine):  # the kernel lets Python's threads linger after they are joined
            assert num_tasks() <= tasks

    def test_twice_is_quiet(self, make_engine: Any, shard: Any) -> None:
        _, shards = shard()
        engine = make_engine(shards)
        engine.close()
        engine.close()

    def test_open_tickets_can_be_abandoned_before_and_after(self, make_engine: Any, shard: Any) -> None:
        index, shards = shard()
        engine = make_engine(shards)
        tickets = [engine.start(all_of(index)) for _ in range(6)]
        tickets[1].abandon()
        tickets[0].finish()
        engine.close()
        for ticket in tickets[2:]:
            ticket.abandon()


@pytest.mark.parametrize("how", [RECIPE, transform], ids=["recipe", "transform"])
class TestIterations:
    """The same behaviour of a loader, whatever makes its batches."""

    def loader(self, packed: Callable[..., Path], how: Any, **options: int) -> RecordLoader:
        path = packed(20)
        return RecordLoader(path.parent, path.name, how, batch_size=4, options=LoaderOptions(**options))  # type: ignore[arg-type]

    def test_an_epoch_ends_and_the_next_begins(self, packed: Callable[..., Path], how: Any) -> None:
        with self.loader(packed, how) as loader:
            assert [len(images) for images, _ in loader] == [4] * 5
            assert (loader.state_dict()["epoch"], loader.state_dict()["position"]) == (1, 0)
            assert len(list(loader)) == 5

    def test_a_closed_loader_ends_its_iteration(self, packed: Callable[..., Path], how: Any) -> None:
        loader = self.loader(packed, how, prefetch=3)
        iterator = iter(loader)
        next(iterator)
        loader.close()
        with pytest.raises(StaleIterator, match="closed, moved or iterated anew"):
            next(iterator)
        assert len(list(loader)) == 4
        loader.close()

    @pytest.mark.parametrize("move", ["set_epoch", "load_state_dict", "iter"])
    def test_a_moved_loader_ends_its_iteration(self, packed: Callable[..., Path], how: Any, move: str) -> None:
        with self.loader(packed, how) as loader:
            iterator = iter(loader)
            next(iterator)
            {
                "set_epoch": lambda: loader.set_epoch(7),
                "load_state_dict": lambda: loader.load_state_dict(loader.state_dict()),
                "iter": lambda: iter(loader),
            }[move]()
            with pytest.raises(StaleIterator):
                next(iterator)

    def test_after_an_error_it_goes_on_with_the_same_batch(self, packed: Callable[..., Path], how: Any) -> None:
        path = packed(20, shards=1)
        shard = path.with_suffix(".tfrecord")
        whole = shard.read_bytes()
        with RecordLoader(path.parent, path.name, how, batch_size=4, shuffle=False) as loader:
            damaged = bytearray(whole)
            damaged[-20] ^= 1  # in the last record, so in the last batch
            shard.write_bytes(bytes(damaged))
            with pytest.raises(BadRecordFile):
                list(loader)
            assert loader.state_dict()["position"] == 16
            shard.write_bytes(whole)
            assert [labels.tolist() for _, labels in loader] == [[2, 2, 2, 2]]
