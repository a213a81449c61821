"""How long somebody waits after wrong passwords."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from danlu.auth import throttle
from danlu.auth.throttle import ADDRESS, NAME, PAIR, Count, counts_for, network_of, wait_seconds

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)


def wait(limit: throttle.Limit, count: int, seconds_ago: float = 0) -> int:
    return wait_seconds([Count(limit, "k", count, NOW - timedelta(seconds=seconds_ago))], NOW)


@pytest.mark.parametrize(
    ("count", "seconds_ago", "seconds"),
    [
        (0, 0, 0),
        (4, 0, 0),
        (5, 0, 1),
        (6, 0, 2),
        (7, 0, 4),
        (7, 3, 1),
        (7, 3.5, 1),
        (7, 4, 0),
        (13, 0, 256),
        (14, 0, 300),
    ],
)
def test_waits_double_up_to_the_longest(count: int, seconds_ago: float, seconds: int) -> None:
    assert wait(PAIR, count, seconds_ago) == seconds


def test_a_count_is_forgotten_after_an_hour() -> None:
    assert wait(NAME, 10_000, seconds_ago=60) == 840
    assert wait(NAME, 10_000, seconds_ago=3600) == 0


def test_a_clock_that_was_set_back_keeps_nobody_out() -> None:
    assert wait(NAME, 10_000, seconds_ago=-86400) == 0


@given(st.integers(0, 10**9), st.sampled_from([PAIR, NAME, ADDRESS]), st.floats(0, 10**6))
def test_no_wait_is_longer_than_its_limit(count: int, limit: throttle.Limit, ago: float) -> None:
    assert 0 <= wait(limit, count, ago) <= limit.longest_seconds


def test_a_familiar_address_is_counted_for_itself_alone() -> None:
    assert [count.limit for count in counts_for("ada", "10.0.0.1", is_familiar=True)] == [PAIR]
    assert [count.limit for count in counts_for("ada", "10.0.0.1", is_familiar=False)] == [PAIR, NAME, ADDRESS]


def test_keys_tell_apart_what_is_apart_and_hold_no_name() -> None:
    def keys(name: str, address: str) -> list[str]:
        return [count.key for count in counts_for(name, address, is_familiar=False)]

    ada, elsewhere, other = keys("ada", "10.0.0.1"), keys("ada", "10.0.0.2"), keys("bob", "10.0.0.1")
    assert (ada[0] != elsewhere[0], ada[1] == elsewhere[1], ada[2] != elsewhere[2]) == (True, True, True)
    assert (ada[0] != other[0], ada[1] != other[1], ada[2] == other[2]) == (True, True, True)
    assert keys(" ADA ", "10.0.0.1") == ada
    assert all("ada" not in key and len(key) == 64 for key in ada)
    assert keys("\ud800", "10.0.0.1")[0] != ada[0]


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::1", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
        ("not an address", "not an address"),
    ],
)
def test_one_household_is_one_address(address: str, network: str) -> None:
    assert network_of(address) == network


def test_the_longest_of_several_waits_counts() -> None:
    some = Count(PAIR, "k", 7, NOW)
    assert wait_seconds([replace(some, count=6), some, replace(some, count=0)], NOW) == 4
    assert wait_seconds([], NOW) == 0
