"""The compiled form of the cutting, which danlu-accel has: the same places, and used where it is installed."""

from __future__ import annotations

import sys

import pytest
from tests.support.cut_data import KINDS, made

from danlu.content import cutting
from danlu.content.cutting import MAX_BYTES, MIN_BYTES, next_cut

compiled = pytest.importorskip("danlu_accel.cutting", reason="danlu-accel is installed without its compiled core")


def test_it_is_used() -> None:
    assert cutting.next_cut_here() is compiled.next_cut


def test_it_is_not_used_when_it_knows_other_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "RULES", cutting.RULES + 1)
    assert cutting.next_cut_here.__wrapped__() is next_cut


def test_an_older_one_that_takes_only_bytes_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(compiled, "TAKES_BUFFERS")
    assert cutting.next_cut_here.__wrapped__() is next_cut


def test_without_it_pythons_own_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "danlu_accel.cutting", None)
    monkeypatch.delattr("danlu_accel.cutting", raising=False)
    assert cutting.next_cut_here.__wrapped__() is next_cut


@pytest.mark.parametrize("kind", KINDS)
def test_the_places_are_the_same(kind: str) -> None:
    compare(made(kind)[: 6 << 20])


@pytest.mark.parametrize("pattern", [b"\n", b"ab", bytes(100) + b"x", b"x" * 63 + b"\n", bytes(range(256))])
def test_the_places_are_the_same_in_what_repeats(pattern: bytes) -> None:
    compare((pattern * (3 * MAX_BYTES // len(pattern) + 1))[: 3 * MAX_BYTES - 7])


@pytest.mark.parametrize("size", [0, 1, MIN_BYTES, MIN_BYTES + 1, MAX_BYTES - 1, MAX_BYTES, MAX_BYTES + 1])
@pytest.mark.parametrize("kind", ["random", "genes"])
def test_the_places_are_the_same_at_the_edges(kind: str, size: int) -> None:
    compare(made(kind)[:size])


@pytest.mark.parametrize("data", ["text", 5, None])
def test_what_has_no_bytes_is_refused(data: object) -> None:
    with pytest.raises(TypeError):
        compiled.next_cut(data, 0, 0)


def test_a_place_outside_of_the_bytes_is_refused() -> None:
    for begin, end in ((0, 5), (4, 3), (5, 5)):
        with pytest.raises(ValueError, match="expected begin <= end <= the number of bytes"):
            compiled.next_cut(b"1234", begin, end)


def compare(data: bytes) -> None:
    begin = 0
    while begin < len(data):
        expected = next_cut(data, begin, len(data))
        assert compiled.next_cut(data, begin, len(data)) == expected
        assert compiled.next_cut(bytearray(data), begin, len(data)) == expected
        begin = expected
