"""Texts, images, sounds and other media as frames. Needs nothing but Python: arrays become PNG and WAV files here."""

from __future__ import annotations

import io
import json
import math
import os
import struct
import wave
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from danlu import journal

PART_BYTES = journal.MAX_PAYLOAD_BYTES - 4096
MAX_BYTES = 32 << 20
MAX_BINS = 1024
MAX_ROWS = 10_000
_FORMATS = (
    # where it stands, what stands there, the format
    (0, b"\x89PNG", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF8", "image/gif"),
    (8, b"WEBP", "image/webp"),
    (8, b"WAVE", "audio/wav"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"\xff\xfb", "audio/mpeg"),
    (0, b"fLaC", "audio/flac"),
    (0, b"OggS", "audio/ogg"),
    (4, b"ftyp", "video/mp4"),
    (0, b"\x1a\x45\xdf\xa3", "video/webm"),
)


class Counted(NamedTuple):
    """A histogram: one edge more than counts."""

    edges: list[float]
    counts: list[int]


def text(about: Mapping[str, Any], value: str) -> Iterator[bytes]:
    return _frames({**about, "format": "text/plain"}, str(value).encode("utf-8", "backslashreplace"))


def image(about: Mapping[str, Any], value: Any) -> Iterator[bytes]:
    """Frames of an image. Raise ValueError that says what is expected."""
    return _file_frames(about, _image_bytes(value), "image", "PNG, JPEG, GIF or WebP")


def audio(about: Mapping[str, Any], value: tuple[Any, int]) -> Iterator[bytes]:
    """Frames of a sound: a file, or samples and how many of them a second has."""
    sound, sample_rate = value
    data = _file_bytes(sound)
    if data is None:
        data = wav(_nested(sound), sample_rate)
    return _file_frames(about, data, "audio", "WAV, MP3, FLAC or Ogg")


def video(about: Mapping[str, Any], value: Any) -> Iterator[bytes]:
    data = _file_bytes(value)
    if data is None:
        raise ValueError("expected the path or the bytes of an MP4 or WebM file")
    return _file_frames(about, data, "video", "MP4 or WebM")


def figure(about: Mapping[str, Any], value: Any) -> Iterator[bytes]:
    """Frames of a figure of Matplotlib, or of what else can save itself as PNG."""
    if not hasattr(value, "savefig"):
        raise ValueError("expected a figure of Matplotlib; log_image takes the picture of any other")
    buffer = io.BytesIO()
    value.savefig(buffer, format="png", bbox_inches="tight")
    return _file_frames(about, buffer.getvalue(), "image", "PNG")


def table(about: Mapping[str, Any], value: tuple[Sequence[Any], Sequence[Any]]) -> Iterator[bytes]:
    """Frames of a table: names of columns, and rows with one cell for each."""
    columns, rows = [str(name) for name in value[0]], [[_cell(cell) for cell in row] for row in value[1]]
    if len(rows) > MAX_ROWS:
        raise ValueError(f"it has {len(rows)} rows; {MAX_ROWS} are the most")
    wrong = next((at for at, row in enumerate(rows) if len(row) != len(columns)), None)
    if wrong is not None:
        raise ValueError(f"expected {len(columns)} cells in row {wrong}, got {len(rows[wrong])}")
    data = json.dumps({"columns": columns, "rows": rows}, allow_nan=False).encode()
    return _frames({**about, "format": "application/json"}, data)


def histogram(about: Mapping[str, Any], value: Counted) -> Iterator[bytes]:
    data = json.dumps({"edges": value.edges, "counts": value.counts}, allow_nan=False).encode()
    return _frames({**about, "format": "application/json"}, data)


FRAMES = {
    "text": text,
    "image": image,
    "histogram": histogram,
    "audio": audio,
    "video": video,
    "figure": figure,
    "table": table,
}


def wav(samples: Any, sample_rate: int) -> bytes:
    """A WAV file of 16-bit samples: a list of numbers from -1 to 1, or one such list per channel."""
    if not isinstance(samples, list) or not samples:
        raise ValueError("a sound is a file, or an array of samples from -1 to 1, or one such array per channel")
    channels = samples if isinstance(samples[0], list) else [samples]
    if len({len(channel) for channel in channels}) != 1 or len(channels) > 8:
        raise ValueError("expected 1 to 8 channels of the same length")
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(len(channels))
        file.setsampwidth(2)
        file.setframerate(int(sample_rate))
        frames = (_sample(value) for frame in zip(*channels) for value in frame)
        file.writeframes(b"".join(struct.pack("<h", value) for value in frames))
    return buffer.getvalue()


def counted(edges: list[float], counts: list[int]) -> Counted:
    """A histogram that was counted elsewhere. Raise ValueError when there is not one edge more than counts."""
    if len(edges) != len(counts) + 1:
        raise ValueError(f"{len(counts)} counts need {len(counts) + 1} edges, not {len(edges)}")
    return Counted(edges, counts)


def count(values: Any, bins: int) -> Counted:
    """How numbers are spread over `bins` of equal width; what is not finite is left out."""
    finite = [value for value in _numbers(values) if math.isfinite(value)]
    if not finite:
        return Counted([0.0, 1.0], [0])
    bins = max(1, min(int(bins), MAX_BINS))
    low, high = min(finite), max(finite)
    if low == high:
        low, high = low - 0.5, high + 0.5
    width = (high - low) / bins
    counts = [0] * bins
    for value in finite:
        counts[min(bins - 1, int((value - low) / width))] += 1
    return Counted([low + width * edge for edge in range(bins)] + [high], counts)


def png(width: int, height: int, channels: int, rows: Iterable[bytes]) -> bytes:
    """A PNG file of 8-bit rows: 1 grey, 2 grey with alpha, 3 RGB, 4 RGBA."""
    colour = {1: 0, 2: 4, 3: 2, 4: 6}[channels]
    body = zlib.compress(b"".join(b"\x00" + row for row in rows), 6)
    header = struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*one) for one in ((b"IHDR", header), (b"IDAT", body), (b"IEND", b"")))


def _frames(about: Mapping[str, Any], data: bytes) -> Iterator[bytes]:
    if len(data) > MAX_BYTES:
        raise ValueError(f"it has {len(data)} bytes; {MAX_BYTES} are the most")
    parts = max(1, math.ceil(len(data) / PART_BYTES))
    for part in range(parts):
        piece = data[part * PART_BYTES : (part + 1) * PART_BYTES]
        yield journal.encode_media({**about, "part": part, "parts": parts}, piece)


def _file_frames(about: Mapping[str, Any], data: bytes, kind: str, expected: str) -> Iterator[bytes]:
    found = next((name for at, magic, name in _FORMATS if data[at : at + len(magic)] == magic), "")
    if not found.startswith(f"{kind}/"):
        raise ValueError(f"these bytes are no {expected} file")
    return _frames({**about, "format": found}, data)


def _file_bytes(value: Any) -> bytes | None:
    """The bytes of a file that is given by them or by its path; None for anything else."""
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    if isinstance(value, (str, os.PathLike)):
        with open(value, "rb") as file:
            return file.read(MAX_BYTES + 1)
    return None


def _image_bytes(value: Any) -> bytes:
    data = _file_bytes(value)
    if data is not None:
        return data
    if hasattr(value, "save") and hasattr(value, "mode"):  # a PIL image
        buffer = io.BytesIO()
        value.save(buffer, format="PNG")
        return buffer.getvalue()
    return _array_png(_nested(value))


def _nested(value: Any) -> Any:
    """A tensor or an array as nested lists."""
    for name in ("detach", "cpu"):
        if hasattr(value, name):
            value = getattr(value, name)()
    return value.tolist() if hasattr(value, "tolist") else value


def _array_png(rows: Any) -> bytes:
    if not isinstance(rows, list) or not rows or not isinstance(rows[0], list) or not rows[0]:
        raise ValueError("an image is an array of H×W, H×W×C or C×H×W numbers, a file's bytes, or a path")
    if isinstance(rows[0][0], list):
        if len(rows) in (1, 3, 4) and len(rows[0][0]) not in (1, 2, 3, 4):
            rows = [[list(pixel) for pixel in zip(*lines)] for lines in zip(*rows)]  # C×H×W, as PyTorch has it
    else:
        rows = [[[value] for value in row] for row in rows]
    channels = len(rows[0][0])
    if channels not in (1, 2, 3, 4):
        raise ValueError(f"an image has 1 to 4 channels, not {channels}")
    flat = [[value for pixel in row for value in pixel] for row in rows]
    is_share = all(isinstance(value, float) for row in flat for value in row)
    lines = (bytes(_byte(value, is_share) for value in row) for row in flat)
    return png(len(rows[0]), len(rows), channels, lines)


def _sample(value: float) -> int:
    return 0 if math.isnan(value) else max(-32768, min(32767, round(value * 32767)))


def _cell(value: Any) -> Any:
    """What a table can hold: numbers, texts, truths and nothing; all else becomes text."""
    value = _nested(value)
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return str(value)


def _byte(value: float, is_share: bool) -> int:
    """Fractions of 1 when all numbers are floats, else 0 to 255; what lies outside is cut."""
    if math.isnan(value):
        return 0
    return max(0, min(255, round(value * 255) if is_share else int(value)))


def _numbers(values: Any) -> Iterator[float]:
    found = _nested(values)
    if isinstance(found, (list, tuple)):
        for inner in found:
            yield from _numbers(inner)
    else:
        yield float(found)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
