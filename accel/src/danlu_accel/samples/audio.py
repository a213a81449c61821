"""Decode audio. WAV needs only numpy; FLAC, OGG and MP3 need the package soundfile."""

from __future__ import annotations

import io
import struct
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from danlu_accel.records.errors import BadRecordFile, Unavailable

INTEGERS, FLOATS, EXTENSIBLE = 1, 3, 0xFFFE
FULL_SCALE = {1: 128.0, 2: 32768.0, 3: 8388608.0, 4: 2147483648.0}


class Audio(NamedTuple):
    samples: npt.NDArray[np.float32]
    """Channels, frames; from -1 to 1."""
    rate: int
    """Frames per second."""


def decode_audio(data: bytes) -> Audio:
    """Decode a WAV, FLAC, OGG or MP3 file. Raises BadRecordFile if it is damaged."""
    if data[:4] == b"RIFF" and data[8:12] == b"WAVE":
        found = _wav(data)
        if found is not None:
            return found
    try:
        import soundfile
    except ImportError as error:
        raise Unavailable("sound that is no plain WAV needs soundfile: pip install 'danlu-accel[audio]'") from error
    try:
        samples, rate = soundfile.read(io.BytesIO(data), dtype="float32", always_2d=True)
    except (RuntimeError, ValueError, TypeError) as error:
        raise BadRecordFile(f"no sound that can be read: {error}") from error
    return Audio(np.ascontiguousarray(samples.T), int(rate))


def _wav(data: bytes) -> Audio | None:
    """Decode an uncompressed WAV; None if it needs soundfile."""
    about: tuple[int, int, int, int] | None = None
    at = 12
    while at + 8 <= len(data):
        name, size = data[at : at + 4], int.from_bytes(data[at + 4 : at + 8], "little")
        begin = at + 8
        if name == b"fmt " and size >= 16 and begin + size <= len(data):
            kind, channels, rate, _, frame_bytes, _ = struct.unpack_from("<HHIIHH", data, begin)
            if kind == EXTENSIBLE and size >= 26:
                kind = int.from_bytes(data[begin + 24 : begin + 26], "little")
            about = (kind, channels, rate, frame_bytes)
        elif name == b"data":
            if about is None:
                raise BadRecordFile("a WAV without a format in front of its data")
            if begin + size > len(data):
                raise BadRecordFile(
                    f"a WAV of {size} bytes of sound, of which {len(data) - begin} are there; it was cut"
                )
            return _plain(data[begin : begin + size], *about)
        at = begin + size + size % 2
    raise BadRecordFile("a WAV without data")


def _plain(raw: bytes, kind: int, channels: int, rate: int, frame_bytes: int) -> Audio | None:
    if not channels or frame_bytes % channels or not frame_bytes:
        raise BadRecordFile(f"a WAV with frames of {frame_bytes} bytes for {channels} channels")
    width = frame_bytes // channels
    raw = raw[: len(raw) // frame_bytes * frame_bytes]
    values: npt.NDArray[Any]
    if kind == FLOATS and width in (4, 8):
        values = np.frombuffer(raw, f"<f{width}")
    elif kind == INTEGERS and width == 1:
        values = np.frombuffer(raw, np.uint8).astype(np.float32) - 128
    elif kind == INTEGERS and width == 3:
        wide = np.zeros((len(raw) // 3, 4), np.uint8)
        wide[:, 1:] = np.frombuffer(raw, np.uint8).reshape(-1, 3)
        values = wide.view("<i4")[:, 0] >> 8
    elif kind == INTEGERS and width in (2, 4):
        values = np.frombuffer(raw, f"<i{width}")
    else:
        return None
    scale = FULL_SCALE[width] if kind == INTEGERS else 1.0
    frames = (values.astype(np.float32) / np.float32(scale)).reshape(-1, channels)
    return Audio(np.ascontiguousarray(frames.T), rate)
