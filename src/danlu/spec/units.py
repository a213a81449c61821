"""Durations, sizes and device requests in text form: `90s`, `2h`, `4GB`, `npu:910b:8`."""

from __future__ import annotations

import re
from typing import Optional, Union

from danlu.spec.devices import DeviceRequest

_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_BYTES = {"": 1, "b": 1, "k": 1000, "m": 1000**2, "g": 1000**3, "t": 1000**4, "ki": 1024, "mi": 1024**2, "gi": 1024**3}
_BYTES["ti"] = 1024**4
_DURATION = re.compile(r"([0-9]{1,15}(?:\.[0-9]+)?)\s*([smhd]?)")
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([kmgt]i?|b)?b?", re.IGNORECASE)
_DEVICE = re.compile(
    r"([a-z][a-z0-9]*)(?::([a-z][a-z0-9._-]*|[0-9]+[a-z][a-z0-9._-]*|[0-9]+(?=:)))?(?::([0-9]+))?", re.IGNORECASE
)
_NPU_MODELS = {"310", "710", "910"}
"""Models that are numbers, as in `npu:910`: no node has that many devices."""

_SPELLED = ("one", "two", "three", "four", "five", "six", "seven", "eight")
_APULIS_DEVICE = re.compile(r"(huawei_npu|nvidia_gpu)_(?:arm64|amd64)(?:_([a-z0-9._-]+))?(?::([0-9]+))?", re.IGNORECASE)
"""Names of device types on Apulis: vendor, architecture, model."""


def parse_duration(value: Union[str, int, float]) -> float:
    """Return seconds. Raise ValueError."""
    found = None if isinstance(value, bool) else _DURATION.fullmatch(str(value).strip().lower())
    if found is None:
        raise ValueError(f"expected a duration such as 90s, 15m, 2h or 1d, got {_short(value)}")
    return float(found.group(1)) * _SECONDS[found.group(2)]


def parse_size(value: Union[str, int, float]) -> int:
    """Return bytes. GB is 10^9, GiB is 2^30. Raise ValueError."""
    found = None if isinstance(value, bool) else _SIZE.fullmatch(str(value).strip())
    if found is None:
        raise ValueError(f"expected a size such as 512MB, 4GB or 16GiB, got {_short(value)}")
    size = float(found.group(1)) * _BYTES[(found.group(2) or "").lower()]
    if size >= 2**63:
        raise ValueError(f"expected a size below 8 EiB, got {str(value)[:40]!r}")
    return int(size)


def parse_device(value: str) -> DeviceRequest:
    """Parse `TYPE[:MODEL][:COUNT]`, such as `gpu:2` or `npu:910b:8`. Raise ValueError."""
    found = _DEVICE.fullmatch(_from_apulis(value.strip()))
    if found is None:
        raise ValueError(f"expected TYPE[:MODEL][:COUNT], such as gpu:2 or npu:910b:8, got {value!r}")
    kind, model, number = found.group(1).lower(), _model(found.group(2)), found.group(3) or "1"
    if model in _SPELLED:
        raise ValueError(f"expected a number of devices such as {kind}:{_SPELLED.index(model) + 1}, got {value!r}")
    if kind == "npu" and model is None and number in _NPU_MODELS:
        model, number = number, "1"
    count = int(number[:9])
    if count < 1 or count > 1024:
        raise ValueError(f"expected 1 to 1024 devices per node, got {value[:40]!r}")
    return DeviceRequest(type=kind, model=model, count=count)


def show_size(num_bytes: float) -> str:
    """Format bytes: 1536 is `1.5 KiB`."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if num_bytes < 1024:
            return f"{num_bytes:.0f} {unit}" if unit == "B" else f"{num_bytes:.1f} {unit}"
        num_bytes /= 1024
    return f"{num_bytes:.1f} TiB"


def show_duration(seconds: float) -> str:
    """Format seconds: 3725 is `1h02m`."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}s"
    if whole < 86400:
        return f"{whole // 3600}h{whole % 3600 // 60:02d}m"
    return f"{whole // 86400}d{whole % 86400 // 3600:02d}h"


def _short(value: object) -> str:
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."


def _from_apulis(text: str) -> str:
    """`huawei_npu_arm64` is `npu`, `nvidia_gpu_amd64_GTX2080TI:2` is `gpu:gtx2080ti:2`; other text stays."""
    found = _APULIS_DEVICE.fullmatch(text)
    if found is None:
        return text
    vendor, model, count = found.groups()
    return ":".join(part for part in (vendor.lower().rpartition("_")[2], model, count) if part)


def _model(text: Optional[str]) -> Optional[str]:
    return text.lower() if text else None
