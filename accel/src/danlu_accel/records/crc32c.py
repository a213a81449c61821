"""crc32c (Castagnoli) for TFRecord: native if the core was built, else numpy.

The numpy version splits the buffer into lanes of equal width, advances all lanes one byte per step, and joins them with
the operator "append `width` zero bytes". A 100 KB image takes about 1 ms instead of 10.
"""

from __future__ import annotations

from functools import cache
from typing import Union

import numpy as np
import numpy.typing as npt

from danlu_accel.records import native

Buffer = Union[bytes, bytearray, memoryview]

POLYNOMIAL = 0x82F63B78
MASK_DELTA = 0xA282EAD8
LANE_BYTES = 256


def masked_crc32c(data: Buffer) -> int:
    """Return crc32c(data), rotated and offset, so that a checksum may be part of data that is itself checksummed."""
    crc = crc32c(data)
    return (((crc >> 15) | (crc << 17)) + MASK_DELTA) & 0xFFFFFFFF


def crc32c(data: Buffer) -> int:
    if native.core is not None:
        return int(native.core.crc32c(data))
    return _crc32c_numpy(np.frombuffer(data, np.uint8))


def _crc32c_numpy(data: npt.NDArray[np.uint8]) -> int:
    num_lanes = len(data) // LANE_BYTES
    crc = 0xFFFFFFFF
    if num_lanes > 1:
        lanes = data[: num_lanes * LANE_BYTES].reshape(num_lanes, LANE_BYTES)
        table = _byte_table()
        states = np.zeros(num_lanes, np.uint32)
        states[0] = crc
        for column in range(LANE_BYTES):
            states = table[(states ^ lanes[:, column]) & 0xFF] ^ (states >> np.uint32(8))
        crc = 0
        shift = _append_zeros_tables()
        for state in states.tolist():
            moved = shift[0][crc & 0xFF] ^ shift[1][crc >> 8 & 0xFF] ^ shift[2][crc >> 16 & 0xFF] ^ shift[3][crc >> 24]
            crc = moved ^ state
        data = data[num_lanes * LANE_BYTES :]
    plain = _byte_table_list()
    for byte in data.tolist():
        crc = plain[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


@cache
def _byte_table_list() -> list[int]:
    table = []
    for value in range(256):
        crc = value
        for _ in range(8):
            crc = (crc >> 1) ^ (POLYNOMIAL if crc & 1 else 0)
        table.append(crc)
    return table


@cache
def _byte_table() -> npt.NDArray[np.uint32]:
    return np.array(_byte_table_list(), np.uint32)


@cache
def _append_zeros_tables() -> list[list[int]]:
    """Four tables, one per byte of a state: the state after `LANE_BYTES` zero bytes."""
    table = _byte_table()
    tables = []
    for position in range(4):
        states = np.arange(256, dtype=np.uint32) << np.uint32(8 * position)
        for _ in range(LANE_BYTES):
            states = table[states & 0xFF] ^ (states >> np.uint32(8))
        tables.append(states.tolist())
    return tables
