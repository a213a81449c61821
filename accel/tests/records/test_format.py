"""crc32c, TFRecord framing, tf.train.Example and the two indexes."""

from __future__ import annotations

import contextlib
import io
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from danlu_accel.records import crc32c as crc
from danlu_accel.records.errors import BadRecordFile
from danlu_accel.records.example import decode_example, encode_example
from danlu_accel.records.index import ENTRY, Index, Shard, index_shards, parse_index, read_index, write_idx, write_index
from danlu_accel.records.tfrecord import frame, scan, unframe

GOLDEN = Path(__file__).parent / "data"


class TestCrc32c:
    def test_known_values(self) -> None:
        assert crc.crc32c(b"") == 0
        assert crc.crc32c(b"123456789") == 0xE3069283
        assert crc.crc32c(bytes(32)) == 0x8A9136AA

    @given(st.binary(max_size=20_000))
    @settings(max_examples=50, deadline=None)
    def test_numpy_and_native_agree(self, data: bytes) -> None:
        assert crc._crc32c_numpy(np.frombuffer(data, np.uint8)) == crc.crc32c(data)


class TestTfrecord:
    def test_scan_returns_what_was_framed(self) -> None:
        records = [b"", b"one", bytes(5000)]
        shard = b"".join(b"".join((frame(r)[0], r, frame(r)[1])) for r in records)
        assert [bytes(data) for _, data in scan(io.BytesIO(shard), len(shard))] == records

    @pytest.mark.parametrize("cut", [1, 4, 5, 17, 30])
    def test_scan_finds_the_end_of_a_cut_file(self, cut: int) -> None:
        head, foot = frame(b"hello, world!")
        shard = (head + b"hello, world!" + foot) * 2
        for num_bytes in (len(shard), len(shard) - cut):  # it shrinks after it was opened, or before
            with pytest.raises(BadRecordFile):
                list(scan(io.BytesIO(shard[:-cut]), num_bytes))

    @pytest.mark.parametrize("at", [0, 9, 13, 16])
    def test_a_flipped_bit_is_found_wherever_it_is(self, at: int) -> None:
        head, foot = frame(b"hello")
        damaged = bytearray(head + b"hello" + foot)
        damaged[at] ^= 1
        with pytest.raises(BadRecordFile):
            unframe(memoryview(damaged))

    def test_a_length_beyond_the_file_is_refused_even_unverified(self) -> None:
        with pytest.raises(BadRecordFile, match=f"expected {1 << 60} bytes in the record at byte 0, got 16"):
            unframe(memoryview(struct.pack("<QI", 1 << 60, 0) + bytes(20)), verify=False)

    def test_an_offset_beyond_the_file_is_refused(self) -> None:
        with pytest.raises(BadRecordFile, match="no record at byte 99"):
            unframe(memoryview(b""), begins_at=99)


class TestExample:
    @given(
        st.dictionaries(
            st.text(max_size=20),
            st.one_of(
                st.lists(st.binary(max_size=50), min_size=1, max_size=4),
                st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=4),
                st.lists(st.floats(width=32, allow_nan=False), min_size=1, max_size=4),
            ),
            max_size=6,
        )
    )
    @settings(max_examples=60, deadline=None)
    def test_decode_returns_what_was_encoded(self, features: dict[str, list[object]]) -> None:
        decoded = decode_example(memoryview(encode_example(features)))
        assert {k: [bytes(i) if isinstance(i, memoryview) else i for i in v] for k, v in decoded.items()} == features

    @given(st.binary(max_size=200))
    @settings(max_examples=200, deadline=None)
    def test_noise_is_refused_or_read_but_never_crashes(self, noise: bytes) -> None:
        with contextlib.suppress(BadRecordFile):
            decode_example(memoryview(noise))

    def test_unpacked_numbers_of_other_writers_are_read(self) -> None:
        # Int64List with one tag per value instead of a packed block.
        feature = b"\x1a\x04\x08\x05\x08\x07"
        entry = b"\x0a\x01k\x12" + bytes([len(feature)]) + feature
        example = b"\x0a" + bytes([len(entry) + 2]) + b"\x0a" + bytes([len(entry)]) + entry
        assert decode_example(memoryview(example)) == {"k": [5, 7]}


class TestIndex:
    def index(self, count: int = 5) -> Index:
        entries = np.zeros(count, ENTRY)
        entries["offset"] = np.arange(count) * 100
        entries["label"] = np.arange(count) - 1
        return Index((Shard("a.tfrecord", 500),), entries, ("猫", "dog"), "imagefold", {"restart_markers": True})

    def test_read_returns_what_was_written(self, tmp_path: Path) -> None:
        write_index(tmp_path / "a.index", self.index())
        found = read_index(tmp_path / "a.index")
        assert (found.shards, found.classes, found.kind) == (self.index().shards, ("猫", "dog"), "imagefold")
        assert np.array_equal(found.entries, self.index().entries)

    def test_an_empty_index_is_fine(self, tmp_path: Path) -> None:
        write_index(tmp_path / "a.index", self.index(0))
        assert len(read_index(tmp_path / "a.index").entries) == 0

    @pytest.mark.parametrize("cut", [0, 3, 20, 100, -1])
    def test_a_cut_index_is_refused(self, tmp_path: Path, cut: int) -> None:
        write_index(tmp_path / "a.index", self.index())
        raw = (tmp_path / "a.index").read_bytes()
        with pytest.raises(BadRecordFile):
            parse_index(memoryview(raw[:cut]))

    def test_a_newer_version_says_upgrade(self, tmp_path: Path) -> None:
        write_index(tmp_path / "a.index", self.index())
        raw = bytearray((tmp_path / "a.index").read_bytes())
        raw[4] = 9
        with pytest.raises(BadRecordFile, match=r"format 9.*upgrade"):
            parse_index(memoryview(bytes(raw)))

    @given(position=st.integers(0, 300), value=st.integers(0, 255))
    @settings(max_examples=60, deadline=None)
    def test_a_changed_byte_is_refused_or_harmless(self, position: int, value: int) -> None:
        raw = bytearray((GOLDEN / "version1.index").read_bytes())
        raw[position % len(raw)] = value
        with contextlib.suppress(BadRecordFile):
            parse_index(memoryview(bytes(raw)))

    def test_idx_has_two_columns(self, tmp_path: Path) -> None:
        write_idx(tmp_path / "a.idx", self.index(2).entries)
        assert (tmp_path / "a.idx").read_text() == "0 16\n100 16\n"


class TestGoldenFiles:
    """Files of version 1 load forever."""

    def test_the_index_loads(self) -> None:
        index = read_index(GOLDEN / "version1.index")
        assert index.classes == ("cat", "dog")
        assert index.entries["label"].tolist() == [0, 1]
        assert index.entries["width"].tolist() == [24, 16]

    def test_the_shard_is_what_its_index_says(self) -> None:
        index = read_index(GOLDEN / "version1.index")
        again = index_shards([GOLDEN / "version1.tfrecord"])
        assert np.array_equal(again.entries, index.entries)
        assert again.shards == index.shards


def test_importing_records_loads_no_torch() -> None:
    code = "import sys, danlu_accel.records as r; r.pack, r.IndexTFRDataset; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
