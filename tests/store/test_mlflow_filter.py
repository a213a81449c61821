"""The search language of MLflow's clients."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from danlu.errors import InvalidInput
from danlu.store.queries.mlflow.filter import Comparison, Order, parse_filter, parse_order


def test_tests_are_joined_by_and() -> None:
    text = "metrics.acc > 0.9 AND params.`a b` LIKE '%x''y%' and attributes.status in ('A', 'B')"
    assert parse_filter(text) == [
        Comparison("metric", "acc", ">", 0.9),
        Comparison("param", "a b", "LIKE", "%x'y%"),
        Comparison("attribute", "status", "IN", ("A", "B")),
    ]


def test_an_order_has_a_way() -> None:
    assert parse_order("metrics.val/acc DESC") == Order("metric", "val/acc", is_ascending=False)
    assert parse_order("start_time") == Order("attribute", "start_time", is_ascending=True)


@pytest.mark.parametrize(
    "text",
    ["metrics.acc", "metrics.acc >", "metrics.acc > 'a'", "params.a > 'b'", "a = 1 or b = 2", "x.y = 'z'",
     "params.a in ()", "params.a = 'b' and", "and", "'a' = params.a", "params.a = 'b", "params.a IN ('a',)"],
)  # fmt: skip
def test_a_wrong_filter_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        parse_filter(text)


@given(st.text(max_size=80))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    with contextlib.suppress(InvalidInput):
        parse_filter(text)
    with contextlib.suppress(InvalidInput):
        parse_order(text)
