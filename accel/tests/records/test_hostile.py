"""Input that wants to break things: it is refused with a clear error, or read as Pillow reads it. Nothing crashes."""

from __future__ import annotations

import os
import random
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from danlu_accel.records import (
    BadRecordFile,
    BrokenImage,
    IndexTFRDataset,
    Recipe,
    RecordLoader,
    native,
    pack,
    read_label_map,
    training_recipe,
)
from danlu_accel.records.errors import BadImageList
from danlu_accel.records.index import ENTRY, Shard, read_index, write_index
from danlu_accel.records.native import Status, to_native
from danlu_accel.records.sources import Source

core: Any = native.core
needs_core = pytest.mark.skipif(core is None, reason=native.advice())


def load(image: bytes) -> int:
    recipe = Recipe(height=32, width=32)
    out = np.empty((3, 32, 32), np.float32)
    status: int = core.load(image, to_native(recipe), 1, out.ctypes.data, out.nbytes)[0]
    return status


def without_tables(image: bytes) -> bytes:
    """The same JPEG without its quantisation tables."""
    kept, at = image[:2], 2
    while image[at + 1] != 0xDA:  # the scan begins
        size = 2 + int.from_bytes(image[at + 2 : at + 4], "big")
        kept += b"" if image[at + 1] == 0xDB else image[at : at + size]
        at += size
    return kept + image[at:]


@needs_core
class TestImages:
    @pytest.mark.parametrize(
        "data", [b"", b"\xff", b"\xff\xd8", b"\xff\xd8\xff", b"\xff\xd8\xff\xd9", b"GIF89a" + bytes(50)]
    )
    def test_no_image(self, data: bytes) -> None:
        assert load(data) != Status.OK
        assert core.decode(data)[0] != Status.OK
        assert core.transcode(data, 5, True) == b""

    def test_cmyk_and_other_formats_are_left_to_pillow(self, photo: Callable[..., bytes]) -> None:
        assert load(photo(40, 30, mode="CMYK")) == 2
        assert load(photo(40, 30, format="PNG")) == 1

    def test_huge_dimensions_are_refused_before_memory_is_asked_for(self, photo: Callable[..., bytes]) -> None:
        image = bytearray(photo(64, 64))
        start = image.index(b"\xff\xc0")
        image[start + 5 : start + 9] = struct.pack(">HH", 65500, 65500)
        assert load(bytes(image)) == 3

    @pytest.mark.parametrize("restart", [False, True])
    def test_every_truncation_ends_well(self, photo: Callable[..., bytes], restart: bool) -> None:
        image = core.transcode(photo(80, 60), 3, True) if restart else photo(80, 60)
        for cut in range(0, len(image), 17):
            load(image[:cut])
            core.decode(image[:cut])

    @pytest.mark.parametrize("restart", [False, True])
    def test_random_damage_ends_well(self, photo: Callable[..., bytes], restart: bool) -> None:
        rng = random.Random(4)
        image = core.transcode(photo(80, 60), 3, True) if restart else photo(80, 60)
        for _ in range(1500):
            damaged = bytearray(image)
            for _ in range(rng.choice([1, 1, 2, 8])):
                damaged[rng.randrange(len(damaged))] = rng.randrange(256)
            load(bytes(damaged))
            core.transcode(bytes(damaged), 5, True)

    def test_damage_in_the_scan_is_read_as_libjpeg_reads_it(self, photo: Callable[..., bytes]) -> None:
        image = bytearray(photo(80, 60))
        scan = image.index(b"\xff\xda") + 40
        for position in range(scan, len(image) - 10, 31):
            damaged = bytearray(image)
            damaged[position] ^= 0x55
            own, theirs = core.decode(bytes(damaged), True), core.decode(bytes(damaged), False)
            assert own == theirs

    def test_an_image_without_tables_does_not_get_those_of_the_image_before(self, photo: Callable[..., bytes]) -> None:
        whole = photo(80, 60)
        assert load(whole) == Status.OK
        assert load(without_tables(whole)) != Status.OK

    def test_wrong_output_sizes_are_refused(self, photo: Callable[..., bytes]) -> None:
        out = np.empty(10, np.float32)
        with pytest.raises(ValueError, match="size"):
            core.load(photo(), to_native(training_recipe()), 1, out.ctypes.data, out.nbytes)


class TestShards:
    def entries_changed(self, path: Path, field: str, value: int) -> None:
        index = read_index(path)
        entries = index.entries.copy()
        entries[field][0] = value
        write_index(path, type(index)(index.shards, entries, index.classes, index.kind, index.made_with))

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("offset", 1 << 60),
            ("offset", 7),
            ("length", 0xFFFFFFF0),
            ("length", 3),
            ("image_at", 1 << 31),
            ("image_bytes", 1 << 31),
        ],
    )
    def test_an_index_that_lies_gets_a_clear_error(self, packed: Callable[..., Path], field: str, value: int) -> None:
        path = packed(4, shards=1)
        self.entries_changed(path, field, value)
        with pytest.raises(BadRecordFile, match="train"), RecordLoader(path.parent, path.name, batch_size=4) as loader:
            list(loader)

    def test_a_flipped_bit_in_a_shard_is_found(self, packed: Callable[..., Path]) -> None:
        path = packed(4, shards=1)
        shard = path.with_suffix(".tfrecord")
        raw = bytearray(shard.read_bytes())
        raw[len(raw) // 2] ^= 4
        shard.write_bytes(bytes(raw))
        with (
            RecordLoader(path.parent, path.name, batch_size=4) as loader,
            pytest.raises(BadRecordFile, match="checksum"),
        ):
            list(loader)

    def test_a_cut_shard_is_found(self, packed: Callable[..., Path]) -> None:
        path = packed(4, shards=1)
        shard = path.with_suffix(".tfrecord")
        shard.write_bytes(shard.read_bytes()[:-50])
        with RecordLoader(path.parent, path.name, batch_size=4) as loader, pytest.raises(BadRecordFile, match="cut"):
            list(loader)

    @pytest.mark.parametrize("transform", [None, Recipe(height=24, width=24)])
    def test_a_shard_that_shrinks_while_it_is_read_is_an_error(
        self, packed: Callable[..., Path], transform: Any
    ) -> None:
        """With a memory map this would be a SIGBUS."""
        path = packed(8, shards=1)
        dataset = IndexTFRDataset(path.parent, path.name, transform)
        dataset[0]
        os.truncate(path.with_suffix(".tfrecord"), 100)
        with pytest.raises(BadRecordFile, match="no record at byte"):
            dataset[7]

    def test_an_index_that_shrinks_while_it_is_used_does_no_harm(self, packed: Callable[..., Path]) -> None:
        path = packed(8)
        dataset = IndexTFRDataset(path.parent, path.name)
        os.truncate(path, 0)
        assert dataset.targets == [0, 0, 0, 1, 1, 1, 2, 2]
        assert dataset[7][1] == 2

    def test_boxes_of_a_shard_that_shrinks_are_an_error(self, tmp_path: Path, photo: Callable[..., bytes]) -> None:
        (tmp_path / "a.jpg").write_bytes(photo(80, 60))
        pack(tmp_path, [Source("a.jpg", -1, {"image/object/bbox/xmin": [0.5]})] * 8, tmp_path / "x", kind="coco")
        dataset = IndexTFRDataset(tmp_path, "x.index")
        os.truncate(tmp_path / "x.tfrecord", 100)
        with pytest.raises(BadRecordFile):
            dataset[7]

    def test_a_missing_shard_is_named(self, packed: Callable[..., Path]) -> None:
        path = packed(4, shards=1)
        path.with_suffix(".tfrecord").unlink()
        with (
            RecordLoader(path.parent, path.name, batch_size=4) as loader,
            pytest.raises(BadRecordFile, match=r"train\.tfrecord"),
        ):
            list(loader)

    def test_a_broken_image_is_named_by_its_record(self, tmp_path: Path, photo: Callable[..., bytes]) -> None:
        from danlu_accel.records.example import encode_example
        from danlu_accel.records.tfrecord import frame

        records = [photo(), photo()[:300], photo()]
        parts = []
        for image in records:
            data = encode_example({"image/encoded": image, "image/class/label": 1})
            head, foot = frame(data)
            parts.append(head + data + foot)
        (tmp_path / "theirs.tfrecord").write_bytes(b"".join(parts))
        loader = RecordLoader(tmp_path, "theirs.tfrecord", batch_size=3, shuffle=False)
        with loader, pytest.raises(BrokenImage, match="record 1"):
            list(loader)

    def test_an_entry_of_no_shard_is_refused(self, packed: Callable[..., Path]) -> None:
        path = packed(2)
        self.entries_changed(path, "shard", 77)
        with pytest.raises(BadRecordFile, match="shard 77"):
            read_index(path)

    @pytest.mark.parametrize("name", ["../x.tfrecord", "/etc/passwd", "a/b", ".."])
    def test_a_shard_outside_of_the_folder_is_refused(self, packed: Callable[..., Path], name: str) -> None:
        path = packed(2, shards=1)
        index = read_index(path)
        write_index(path, replace(index, shards=(Shard(name, index.shards[0].num_bytes),)))
        with pytest.raises(BadRecordFile, match="expected shards beside the index"):
            read_index(path)

    def test_entry_layout_is_32_bytes(self) -> None:
        assert ENTRY.itemsize == 32


def test_a_label_map_that_wants_to_run_code_is_refused(tmp_path: Path) -> None:
    (tmp_path / "evil.pkl").write_bytes(b"cos\nsystem\n(S'echo'\ntR.")
    with pytest.raises(BadImageList, match="only plain data"):
        read_label_map(tmp_path / "evil.pkl")
