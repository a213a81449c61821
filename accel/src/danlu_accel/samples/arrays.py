"""Arrays in numpy's format, .npy."""

from __future__ import annotations

import io
import re
from tokenize import TokenError
from typing import Any, NamedTuple

import numpy as np

from danlu_accel.records.errors import BadRecordFile

MAX_HEADER_BYTES = 1 << 16
VERSION_1 = b"\x93NUMPY\1\0"
USUAL_HEADER = re.compile(
    rb"{'descr': '([<>|=][a-zA-Z][0-9]{0,9})', 'fortran_order': (True|False), 'shape': \(([0-9, ]{0,400})\), } *\n"
)
# numpy parses the header as a Python literal, and passes on these exceptions.
BAD_HEADER = (
    *(ValueError, KeyError, TypeError, EOFError, IndexError, OverflowError),
    *(SyntaxError, TokenError, RecursionError, MemoryError),
)
NUM_TRIES = 5


class Header(NamedTuple):
    shape: tuple[int, ...]
    is_fortran: bool
    dtype: np.dtype[Any]
    num_bytes: int
    """Offset of the numbers."""


def decode_array(data: memoryview) -> Any:
    """Return a copy of the array. Memory is only allocated for data that is present, whatever the header claims."""
    try:
        shape, is_fortran, dtype, begin = _header(data)
        if dtype.hasobject:
            raise ValueError("it holds Python objects, which would be a pickle")
        values = np.frombuffer(data[begin:], dtype)
        shaped = values.reshape(shape[::-1]).T if is_fortran else values.reshape(shape)
    except BAD_HEADER as error:
        raise BadRecordFile(f"expected a numpy array, with a header that can be read: {error!r}") from error
    return shaped.copy()


def _header(data: memoryview) -> Header:
    length = int.from_bytes(data[8:10], "little")
    usual = USUAL_HEADER.fullmatch(data[10 : 10 + length]) if data[:8] == VERSION_1 else None
    if usual is not None:
        shape = tuple(int(side) for side in usual[3].decode().split(",") if side.strip())
        return Header(shape, usual[2] == b"True", np.dtype(usual[1].decode()), 10 + length)
    for _ in range(NUM_TRIES):
        try:
            return _header_by_numpy(data)
        except SystemError:  # before Python 3.11.8 the parser of literals is not thread-safe: CPython issue 106905
            continue
    raise ValueError(f"its header was read {NUM_TRIES} times, and Python failed each time; use Python 3.11.8 or later")


def _header_by_numpy(data: memoryview) -> Header:
    file = io.BytesIO(data[:MAX_HEADER_BYTES])
    version = np.lib.format.read_magic(file)
    read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}[version]
    shape, is_fortran, dtype = read(file)
    return Header(shape, is_fortran, dtype, file.tell())
