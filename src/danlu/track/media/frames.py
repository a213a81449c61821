"""Encode media as journal frames. Standard library only: arrays become PNG and WAV files here."""

from __future__ import annotations

import base64
import io
import json
import math
import os
import struct
import sys
import wave
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Optional

from danlu import journal
from danlu.journal.words import format_of, type_of_column
from danlu.track.media import scores
from danlu.track.media.arrays import array_png, as_numpy, flat, gif, nested, num_axes
from danlu.track.values import MAX_NAME, brief, kind_name, text_of
from danlu.track.warn import warn_once

PART_BYTES = journal.MAX_PAYLOAD_BYTES - 4096
MAX_BYTES = 32 << 20
MAX_BINS = 1024
MAX_ROWS = 10_000
MAX_IMAGES = 100
MAX_HTML_BYTES = 8 << 20
MAX_CHANNELS = 8
_FULL_SCALES = {"int16": 1 << 15, "int32": 1 << 31}
"""Samples of integers, as WAV files are read."""


class Counted(NamedTuple):
    """A histogram. It has one more edge than counts."""

    edges: list[float]
    counts: list[int]


def text(about: Mapping[str, Any], value: str) -> Iterator[bytes]:
    return _frames({**about, "format": "text/plain"}, str(value).encode("utf-8", "backslashreplace"))


def alert(about: Mapping[str, Any], value: tuple[str, str]) -> Iterator[bytes]:
    """Encode an alert; its name is the title."""
    return text({**about, "level": value[1]}, value[0])


def image(about: Mapping[str, Any], value: Any) -> Iterator[bytes]:
    """Encode an image. Raise ValueError for unsupported values."""
    return _file_frames(about, _image_bytes(value), "image", "PNG, JPEG, GIF or WebP")


def audio(about: Mapping[str, Any], value: tuple[Any, int]) -> Iterator[bytes]:
    """Encode audio: a file, or samples and their rate."""
    sound, sample_rate = value
    data = _file_bytes(sound)
    if data is None:
        scale = _FULL_SCALES.get(str(getattr(sound, "dtype", "")).rpartition(".")[2], 1)
        data = wav(nested(sound), sample_rate, full_scale=scale)
    return _file_frames(about, data, "audio", "WAV, MP3, FLAC or Ogg")


def video(about: Mapping[str, Any], value: tuple[Any, float]) -> Iterator[bytes]:
    """Encode a video: a file, or arrays T×H×W×C, which become an animated GIF."""
    moving, fps = value
    data = _file_bytes(moving)
    if data is not None:
        return _file_frames(about, data, "video", "MP4 or WebM")
    if num_axes(moving) != 4:
        raise ValueError("expected the path or the bytes of an MP4 or WebM file, or an array T×H×W×C")
    return _frames({**about, "format": "image/gif"}, gif(moving, fps))


def images(about: Mapping[str, Any], value: tuple[Any, Optional[Sequence[Any]]]) -> Iterator[bytes]:
    """Encode several related images with captions."""
    given, captions = list(value[0]), _captions(value[1])
    if len(given) > MAX_IMAGES:
        raise ValueError(f"it has {len(given)} images; {MAX_IMAGES} are the most")
    found = []
    for at, one in enumerate(given):
        data = _image_bytes(one)
        format = _format_of(data, "image", "PNG, JPEG, GIF or WebP")
        caption = captions[at] if at < len(captions) else ""
        found.append({"caption": caption, "format": format, "data": base64.b64encode(data).decode()})
    return _json_frames(about, {"images": found})


def figure(about: Mapping[str, Any], value: Any) -> Iterator[bytes]:
    """Encode a figure: Plotly as JSON; Matplotlib, and others with `savefig`, as PNG."""
    if callable(getattr(value, "to_plotly_json", None)):
        made = json.loads(value.to_json())
        format = "application/vnd.plotly.v1+json"
        return _json_frames({**about, "kind": "plotly"}, {name: made.get(name) for name in ("data", "layout")}, format)
    if not hasattr(value, "savefig"):
        raise ValueError("expected a figure of Matplotlib or Plotly; log_image takes the picture of any other")
    buffer = io.BytesIO()
    value.savefig(buffer, format="png", bbox_inches="tight")
    return _file_frames(about, buffer.getvalue(), "image", "PNG")


def html(about: Mapping[str, Any], value: Any) -> Iterator[bytes]:
    """Encode an HTML page: text, or an object with `_repr_html_`, as notebooks use it."""
    shown = value._repr_html_() if hasattr(value, "_repr_html_") else value
    if not isinstance(shown, str):
        raise ValueError(f"expected HTML as text, got {kind_name(value)}")
    data = shown.encode("utf-8", "replace")
    if len(data) > MAX_HTML_BYTES:
        raise ValueError(f"it has {len(data)} bytes; {MAX_HTML_BYTES} are the most of HTML")
    return _frames({**about, "format": "text/html"}, data)


def table(about: Mapping[str, Any], value: tuple[Sequence[Any], Sequence[Any]]) -> Iterator[bytes]:
    """Encode a table: names and types of columns, and rows with one cell for each."""
    columns, rows = [text_of(name, MAX_BYTES) for name in value[0]], [[_cell(cell) for cell in row] for row in value[1]]
    if len(rows) > MAX_ROWS:
        raise ValueError(f"it has {len(rows)} rows; {MAX_ROWS} are the most")
    wrong = next((at for at, row in enumerate(rows) if len(row) != len(columns)), None)
    if wrong is not None:
        raise ValueError(f"expected {len(columns)} cells in row {wrong}, got {len(rows[wrong])}")
    types = [type_of_column([row[at] for row in rows]) for at in range(len(columns))]
    return _json_frames(about, {"columns": columns, "types": types, "rows": rows})


def confusion_matrix(about: Mapping[str, Any], value: tuple[Any, Any, Optional[Sequence[Any]]]) -> Iterator[bytes]:
    return _json_frames(about, scores.confusion(*value[:2], labels=value[2])._asdict())


def pr_curve(about: Mapping[str, Any], value: tuple[Any, Any, Optional[Sequence[Any]]]) -> Iterator[bytes]:
    lines = [one._asdict() for one in scores.precision_recall(*value[:2], labels=value[2])]
    return _json_frames(about, {"x": "recall", "y": "precision", "lines": lines})


def roc_curve(about: Mapping[str, Any], value: tuple[Any, Any, Optional[Sequence[Any]]]) -> Iterator[bytes]:
    lines = [one._asdict() for one in scores.roc(*value[:2], labels=value[2])]
    return _json_frames(about, {"x": "false positive rate", "y": "true positive rate", "lines": lines})


def histogram(about: Mapping[str, Any], value: Counted) -> Iterator[bytes]:
    return _json_frames(about, value._asdict())


FRAMES: dict[str, Callable[[Mapping[str, Any], Any], Iterator[bytes]]] = {
    "text": text,
    "alert": alert,
    "image": image,
    "images": images,
    "histogram": histogram,
    "audio": audio,
    "video": video,
    "figure": figure,
    "table": table,
    "html": html,
    "confusion_matrix": confusion_matrix,
    "pr_curve": pr_curve,
    "roc_curve": roc_curve,
}


def wav(samples: Any, sample_rate: int, *, full_scale: int = 1) -> bytes:
    """Encode 16-bit WAV: a list of numbers from `-full_scale` to `full_scale`, or a list per channel or per frame."""
    if not isinstance(samples, list) or not samples:
        raise ValueError("a sound is a file, or an array of samples from -1 to 1, or one such array per channel")
    channels = samples if isinstance(samples[0], list) else [samples]
    if len(channels) > MAX_CHANNELS >= len(channels[0]) >= 1:
        channels = [list(channel) for channel in zip(*channels)]  # frames of all channels, as soundfile reads them
    if len({len(channel) for channel in channels}) != 1 or len(channels) > MAX_CHANNELS:
        raise ValueError("expected 1 to 8 channels of the same length")
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(len(channels))
        file.setsampwidth(2)
        file.setframerate(int(sample_rate))
        frames = (_sample(value / full_scale) for frame in zip(*channels) for value in frame)
        file.writeframes(b"".join(struct.pack("<h", value) for value in frames))
    return buffer.getvalue()


def counted(edges: list[float], counts: list[int]) -> Counted:
    """Return an existing histogram. Raise ValueError when it does not have one more edge than counts."""
    if len(edges) != len(counts) + 1:
        raise ValueError(f"{len(counts)} counts need {len(counts) + 1} edges, not {len(edges)}")
    return Counted(edges, counts)


def count(values: Any, bins: int) -> Counted:
    """Return a histogram with `bins` of equal width; non-finite numbers are skipped."""
    array = as_numpy(values)
    finite: Any = array[abs(array) < math.inf] if array is not None else [x for x in flat(values) if math.isfinite(x)]
    if not len(finite):
        return Counted([0.0, 1.0], [0])
    bins = max(1, min(int(bins), MAX_BINS))
    low, high = (float(finite.min()), float(finite.max())) if array is not None else (min(finite), max(finite))
    if math.isinf(high - low):
        smaller = count(finite / 4 if array is not None else [value / 4 for value in finite], bins)
        return Counted([edge * 4 for edge in smaller.edges], smaller.counts)
    if (high - low) / bins == 0:
        low, high = low - max(0.5, abs(low) * 1e-6), high + max(0.5, abs(high) * 1e-6)
    width = (high - low) / bins
    if array is not None:
        places = ((finite - low) / width).astype(int).clip(0, bins - 1)
        counts = [int(number) for number in sys.modules["numpy"].bincount(places, minlength=bins)]
    else:
        counts = [0] * bins
        for value in finite:
            counts[min(bins - 1, int((value - low) / width))] += 1
    return Counted([low + width * edge for edge in range(bins)] + [high], counts)


def _frames(about: Mapping[str, Any], data: bytes) -> Iterator[bytes]:
    if len(data) > MAX_BYTES:
        raise ValueError(f"it has {len(data)} bytes; {MAX_BYTES} are the most")
    parts = max(1, math.ceil(len(data) / PART_BYTES))
    for part in range(parts):
        piece = data[part * PART_BYTES : (part + 1) * PART_BYTES]
        yield journal.encode_media({**about, "part": part, "parts": parts}, piece)


def _json_frames(about: Mapping[str, Any], value: Any, format: str = "application/json") -> Iterator[bytes]:
    return _frames({**about, "format": format}, json.dumps(value, allow_nan=False).encode())


def _file_frames(about: Mapping[str, Any], data: bytes, kind: str, expected: str) -> Iterator[bytes]:
    return _frames({**about, "format": _format_of(data, kind, expected)}, data)


def _format_of(data: bytes, kind: str, expected: str) -> str:
    found = format_of(data)
    if not found.startswith(f"{kind}/"):
        raise ValueError(f"these bytes are no {expected} file")
    return found


def _file_bytes(value: Any) -> bytes | None:
    """Return the content of a file given as bytes or as a path; None for anything else."""
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
    return array_png(nested(value))


def _captions(given: Any) -> list[str]:
    """Return the texts in a list, an array or a tensor; what is none of these does not keep the images back."""
    try:
        return ["" if one is None else text_of(one, MAX_NAME) for one in (() if given is None else nested(given))]
    except Exception:  # not iterable; a foreign object may raise anything
        warn_once("captions", f"captions are a list of texts, not {brief(given)}; they are left out")
        return []


def _sample(value: float) -> int:
    return 0 if math.isnan(value) else round(max(-1.0, min(1.0, value)) * 32767)


def _cell(value: Any) -> Any:
    """Convert to a valid cell: numbers, text, booleans and None; everything else becomes text."""
    try:
        value = nested(value)
        if value is None or isinstance(value, (str, bool, int)):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else str(value)
    except Exception:  # a foreign object may raise anything; the other cells are kept
        pass
    return text_of(value, MAX_BYTES)
