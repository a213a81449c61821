"""Which devices a request covers."""

from __future__ import annotations

import pytest

from danlu.spec.devices import Device, DeviceRequest


@pytest.mark.parametrize(
    ("asked", "has", "covers"),
    [
        (DeviceRequest(type="npu"), Device(type="npu", id=0, model="910b3"), True),
        (DeviceRequest(type="npu", model="910b"), Device(type="npu", id=0, model="910b3"), True),
        (DeviceRequest(type="npu", model="910b3"), Device(type="npu", id=0, model="910b"), False),
        (DeviceRequest(type="npu", model="910b"), Device(type="npu", id=0), False),
        (DeviceRequest(type="gpu"), Device(type="npu", id=0), False),
    ],
)
def test_a_model_may_be_asked_for_by_its_beginning(asked: DeviceRequest, has: Device, covers: bool) -> None:
    assert asked.covers(has) is covers
