"""Where files are cut: by what is in them."""

from __future__ import annotations

import functools
import hashlib
import os
import random
from io import FileIO
from pathlib import Path
from typing import Any

import pytest
from tests.support.cut_data import KINDS, made

from danlu.content import cutting
from danlu.content.cutting import BLOCK_BYTES, MAX_BYTES, MIN_BYTES, Cutter, Hashers, Piece, _rolling_hashes, next_cut


def cut(path: Path) -> list[Piece]:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        with Hashers() as hashers:
            return _checked(Cutter(descriptor, hashers), path)
    finally:
        os.close(descriptor)


def _checked(cutter: Cutter, path: Path) -> list[Piece]:
    pieces = list(cutter.pieces())
    data = path.read_bytes()
    assert cutter.size == len(data)
    begin = 0
    for piece in pieces:
        assert piece.offset == begin
        assert hashlib.sha256(data[begin : begin + piece.size]).hexdigest() == piece.sha256
        begin += piece.size
    assert begin == len(data)
    return pieces


class Reluctant(FileIO):
    """A file on a file system that gives less than it is asked for."""

    def readinto(self, buffer: Any) -> int:
        return super().readinto(memoryview(buffer)[:100_000])


def test_only_its_end_ends_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_bytes(random.Random(1).randbytes(BLOCK_BYTES + 3 * MIN_BYTES))
    expected = cut(path)
    monkeypatch.setattr(cutting, "open", lambda file, *_, **__: Reluctant(file, closefd=False), raising=False)
    assert cut(path) == expected


class TestCutting:
    @pytest.mark.parametrize("kind", KINDS)
    def test_sizes(self, tmp_path: Path, kind: str) -> None:
        (tmp_path / "x").write_bytes(made(kind))
        sizes = [piece.size for piece in cut(tmp_path / "x")]
        assert all(MIN_BYTES < size <= MAX_BYTES for size in sizes[:-1])
        assert 150_000 < sum(sizes) / len(sizes) < 1_200_000

    @pytest.mark.parametrize(
        "size", [0, 1, MIN_BYTES, MIN_BYTES + 1, BLOCK_BYTES - 1, BLOCK_BYTES, BLOCK_BYTES + 1, 3 * BLOCK_BYTES]
    )
    def test_whatever_the_size_all_bytes_are_there_once(self, tmp_path: Path, size: int) -> None:
        (tmp_path / "x").write_bytes(random.Random(size).randbytes(size))
        assert bool(cut(tmp_path / "x")) == (size > 0)

    def test_zeros_are_cut_at_the_largest_size_and_kept_once(self, tmp_path: Path) -> None:
        (tmp_path / "x").write_bytes(bytes(10 * MAX_BYTES))
        assert {piece.sha256 for piece in cut(tmp_path / "x")} == {hashlib.sha256(bytes(MAX_BYTES)).hexdigest()}

    @pytest.mark.parametrize("kind", KINDS)
    def test_an_insertion_changes_a_few_chunks(self, tmp_path: Path, kind: str) -> None:
        data = made(kind)
        (tmp_path / "old").write_bytes(data)
        at = len(data) // 3
        (tmp_path / "new").write_bytes(data[:at] + b"inserted\n" + data[at:])
        old = {piece.sha256 for piece in cut(tmp_path / "old")}
        new = cut(tmp_path / "new")
        changed = sum(piece.size for piece in new if piece.sha256 not in old)
        assert changed <= 4 << 20, f"{changed} of {len(data)} bytes"

    @pytest.mark.parametrize("kind", KINDS)
    def test_bytes_put_in_at_the_front_are_all_that_is_new(self, tmp_path: Path, kind: str) -> None:
        data, more = made(kind), made(kind)[5 << 20 : 6 << 20]
        (tmp_path / "old").write_bytes(data)
        (tmp_path / "new").write_bytes(more[::-1] + data)
        old = {piece.sha256 for piece in cut(tmp_path / "old")}
        changed = sum(piece.size for piece in cut(tmp_path / "new") if piece.sha256 not in old)
        assert changed <= len(more) + (2 << 20), f"{changed} bytes for {len(more)}"

    @pytest.mark.parametrize("kind", ["random", "no line feeds"])
    def test_a_file_inside_another_is_found(self, tmp_path: Path, kind: str) -> None:
        """As when an archive is unpacked, or files are put together."""
        data = made(kind)
        (tmp_path / "own").write_bytes(data)
        (tmp_path / "archive").write_bytes(bytes(range(48, 58)) * 100 + data[::-1] + data)
        known = {piece.sha256 for piece in cut(tmp_path / "archive")}
        new = sum(piece.size for piece in cut(tmp_path / "own") if piece.sha256 not in known)
        assert new <= 2 << 20

    @pytest.mark.parametrize("kind", ["random", "no line feeds"])
    def test_it_does_not_depend_on_what_follows(self, kind: str) -> None:
        """A file that grows keeps its chunks, all but the last."""
        data = made(kind)
        first = next_cut(data, 0, len(data))
        assert next_cut(data[: first + MAX_BYTES], 0, first + MAX_BYTES) == first

    @pytest.mark.parametrize("kind", ["with line feeds", "without"])
    def test_the_places_are_the_same_for_ever(self, kind: str) -> None:
        """Other places would work too, and would cost everybody an upload of everything."""
        data, places, begin = random.Random(3).randbytes(4 << 20), [], 0
        if kind == "without":
            data = data.replace(b"\n", b"\x0b")
        while begin < len(data):
            begin = next_cut(data, begin, len(data))
            places.append(begin)
        assert places == PLACES[kind]

    def test_the_hash_of_a_place_is_that_of_its_nine_bytes(self) -> None:
        """As `docs/formats/artifacts.md` says it, byte by byte."""
        data = made("random")[: 4 << 10]
        table = b"".join(hashlib.sha256(bytes((number,))).digest() for number in range(8))
        for begin, end in ((100, 4096), (9, 10)):
            found = _rolling_hashes(data, begin, end)
            assert len(found) == end - begin
            for at in range(begin, end):
                bits = sum(table[data[at - back]] << (8 * (8 - back)) for back in range(9))
                folded = functools.reduce(lambda left, right: left ^ right, (bits << 9 * n for n in range(8)))
                assert found[at - begin] == folded >> 64 & 255

    @pytest.mark.parametrize("pattern", [b"ab", b"x", bytes(100) + b"x"])
    def test_what_repeats_is_cut_too(self, pattern: bytes) -> None:
        data = pattern * (2 * MAX_BYTES // len(pattern))
        assert MIN_BYTES < next_cut(data, 0, len(data)) <= MAX_BYTES


PLACES = {
    "with line feeds": [917070, 1521277, 1769630, 2398056, 2676509, 2994181, 3558537, 4194304],
    "without": [389259, 1320831, 2201710, 4194304],
}
