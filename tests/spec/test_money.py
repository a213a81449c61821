"""Prices and costs are exact."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from danlu.spec.money import cost, money_text, parse_price, show_cost, show_price

T = datetime(2026, 1, 1, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("given_", "text"),
    [("18.4008", "18.4008"), ("18.4", "18.40"), (0, "0.00"), (0.7, "0.70"), ("9999999.999999", "9999999.999999")],
)
def test_a_price_has_one_text(given_: object, text: str) -> None:
    assert money_text(parse_price(given_)) == text


@pytest.mark.parametrize("wrong", [-1, "", "1,5", "1e3", 1e-7, True, None, float("nan"), "10000000", "0.0000001", "１"])
def test_what_is_no_price_is_refused(wrong: object) -> None:
    with pytest.raises(ValueError, match=r"expected a price from 0 to"):
        parse_price(wrong)


@given(
    price=st.decimals(0, 9_999_999, places=6),
    spans=st.lists(st.tuples(st.integers(0, 10**13), st.integers(0, 10**13)), max_size=5),
)
def test_a_cost_is_the_exact_one_rounded_once(price: Decimal, spans: list[tuple[int, int]]) -> None:
    held = [(T + timedelta(microseconds=begin), T + timedelta(microseconds=begin + lasted)) for begin, lasted in spans]
    exact = Fraction(price) * sum(lasted for _, lasted in spans) / 3_600_000_000
    found = cost(price, held, T)
    assert abs(Fraction(found) - exact) <= Fraction(1, 2 * 10**6)
    assert Decimal(money_text(found)) == found


def test_what_goes_on_is_counted_to_now_and_a_clock_set_back_is_free() -> None:
    price = Decimal("3.6")
    assert cost(price, [(T, None)], T + timedelta(seconds=10)) == Decimal("0.01")
    assert cost(price, [(T, T - timedelta(hours=1)), (T, T + timedelta(hours=1))], T) == Decimal("3.6")


def test_for_people() -> None:
    assert show_price(Decimal("18.4008"), "CNY") == "¥18.4008/h"
    assert show_price(Decimal("2"), "SEK") == "SEK 2.00/h"
    assert [show_cost(Decimal(text), "USD") for text in ("12.345", "0.00421", "0")] == ["$12.35", "$0.0042", "$0.00"]
