"""Durations, sizes and devices as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from danlu.spec.devices import DeviceRequest
from danlu.spec.units import parse_device, parse_duration, parse_size, show_duration, show_size


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90.0), ("90s", 90.0), (" 15m ", 900.0), ("1.5h", 5400.0), ("1D", 86400.0), ("2 h", 7200.0), (7, 7.0)],
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("text", "size"),
    [("1", 1), ("512MB", 512 * 10**6), ("4GB", 4 * 10**9), ("16GiB", 16 << 30), ("1.5k", 1500), ("2Ti", 2 << 40)],
)
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    ("text", "device"),
    [
        ("cpu", DeviceRequest()),
        ("gpu:2", DeviceRequest(type="gpu", count=2)),
        ("npu:910b:8", DeviceRequest(type="npu", model="910b", count=8)),
        ("GPU:A100", DeviceRequest(type="gpu", model="a100")),
        ("npu:910", DeviceRequest(type="npu", model="910")),
        ("npu:910:8", DeviceRequest(type="npu", model="910", count=8)),
        ("npu:8", DeviceRequest(type="npu", count=8)),
        ("gpu:910", DeviceRequest(type="gpu", count=910)),
        ("huawei_npu_arm64", DeviceRequest(type="npu")),
        ("huawei_npu_arm64:8", DeviceRequest(type="npu", count=8)),
        ("nvidia_gpu_amd64_GTX2080TI:2", DeviceRequest(type="gpu", model="gtx2080ti", count=2)),
    ],
)
def test_devices(text: str, device: DeviceRequest) -> None:
    assert parse_device(text) == device


@given(st.from_regex(r"[a-z][a-z0-9]{0,8}(:[a-z][a-z0-9]{0,5})?:[1-9][0-9]?", fullmatch=True))
def test_a_device_reads_as_it_is_written(text: str) -> None:
    assert parse_device(str(parse_device(text))) == parse_device(text)


@given(st.text(max_size=30))
def test_any_text_is_understood_or_refused_with_a_sentence(text: str) -> None:
    refused: list[str] = []
    for parse in (parse_duration, parse_size, parse_device):
        try:
            parse(text)
        except ValueError as error:
            refused.append(str(error))
    assert [told for told in refused if "would be right" not in told and "write" not in told] == []


@given(st.integers(min_value=0, max_value=2**62))
def test_a_shown_size_is_near_the_size(size: int) -> None:
    number, unit = show_size(size).split()
    factor = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}[unit]
    assert abs(float(number) * factor - size) <= max(1.0, 0.051 * factor)


@given(st.floats(min_value=0, max_value=10**8))
def test_a_shown_duration_drops_no_more_than_its_last_unit(seconds: float) -> None:
    text = show_duration(seconds)
    parts = text.replace("d", "d ").replace("h", "h ").replace("m", "m ").split()
    assert 0 <= seconds - sum(parse_duration(part) for part in parts) < (1 if text.endswith("s") else 3600)
