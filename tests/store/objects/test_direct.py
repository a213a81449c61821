"""Writing past the page cache: the bytes are the same whatever of it works."""

from __future__ import annotations

import os
import random
from pathlib import Path

import numpy as np
import pytest

from danlu.spec.paths import StorePath
from danlu.store.objects import direct
from danlu.store.objects.direct import ALIGNED_BYTES, MIN_BYTES, aligned_buffer, write_directly
from danlu.store.objects.local import LocalObjects

SIZES = (MIN_BYTES, MIN_BYTES + 1, MIN_BYTES + ALIGNED_BYTES - 1, 3 * MIN_BYTES + 12_345)
PATH = StorePath("blobs", "packs/ab")


def filled(size: int) -> memoryview:
    memory = aligned_buffer(size)
    memory[:] = random.Random(size).randbytes(size)
    return memory


@pytest.mark.parametrize("size", [0, 1, 4095, 4096, *SIZES])
def test_memory_begins_where_a_direct_write_may(size: int) -> None:
    memory = aligned_buffer(size)
    assert len(memory) == size
    assert size == 0 or np.frombuffer(memory, np.uint8).ctypes.data % ALIGNED_BYTES == 0


@pytest.mark.parametrize("size", SIZES)
def test_the_beginning_is_written_and_the_rest_is_left(tmp_path: Path, size: int) -> None:
    data, file = filled(size), tmp_path / "file"
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT)
    done = write_directly(descriptor, data)
    os.write(descriptor, data[done:])  # the flag is off again: this need not be aligned
    os.close(descriptor)
    assert done in (0, size - size % ALIGNED_BYTES)
    assert file.read_bytes() == data


@pytest.mark.parametrize("data", [b"1" * (MIN_BYTES - 1), filled(2 * MIN_BYTES)[1:]], ids=["small", "not aligned"])
def test_what_is_not_worth_it_or_not_possible_is_left(tmp_path: Path, data: bytes) -> None:
    with (tmp_path / "file").open("wb") as file:
        assert write_directly(file.fileno(), data) == 0


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("fails_after", [0, 1])
def test_an_object_is_whole_when_direct_writes_end_early(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, fails_after: int
) -> None:
    """As on a file system that refuses them, or refuses to go on after it wrote less than asked."""
    write = os.write
    done: list[int] = []

    def refuses(descriptor: int, view: memoryview) -> int:
        if len(done) >= fails_after:
            raise OSError(22, "Invalid argument")
        done.append(1)
        return write(descriptor, view[:ALIGNED_BYTES])

    class Refusing:
        def __getattr__(self, name: str) -> object:
            return refuses if name == "write" else getattr(os, name)

    data = filled(size)
    monkeypatch.setattr(direct, "os", Refusing())
    objects = LocalObjects(tmp_path)
    objects.put_whole(PATH, data)
    assert b"".join(objects.read(PATH)) == data


@pytest.mark.parametrize("size", SIZES)
def test_without_the_flag_all_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(direct, "_FLAG", 0)
    data, objects = filled(size), LocalObjects(tmp_path)
    with (tmp_path / "file").open("wb") as file:
        assert write_directly(file.fileno(), data) == 0
    objects.put_whole(PATH, data)
    assert b"".join(objects.read(PATH)) == data
