"""The language that runs are searched with."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from danlu.errors import InvalidInput
from danlu.spec.run_filter import AllOf, AnyOf, Comparison, Not, parse_filter


def test_and_binds_closer_than_or() -> None:
    found = parse_filter("name = a or metrics.val.acc > 0.9 and not hparams.lr < 1e-2")
    assert found == AnyOf(
        (
            Comparison("name", "last", "=", ("a",), 7),
            AllOf(
                (
                    Comparison("metrics.val.acc", "last", ">", (0.9,), 30),
                    Not(Comparison("hparams.lr", "last", "<", (0.01,), 55)),
                )
            ),
        )
    )


def test_names_of_all_kinds() -> None:
    found = parse_filter("max(metrics.val.`top 5/acc`) >= -1 and (hparams.模型.lr-0 in (1, 'a\\'b', true))")
    assert isinstance(found, AllOf)
    first, second = found.parts
    assert isinstance(first, Comparison)
    assert isinstance(second, Comparison)
    assert (first.field, first.of, first.values) == ("metrics.val.top 5/acc", "max", (-1.0,))
    assert (second.field, second.sign, second.values) == ("hparams.模型.lr-0", "in", (1.0, "a'b", True))


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("", 1),
        ("acc > 1", 1),
        ("metrics > 1", 1),
        ("name.x = 1", 1),
        ("name", 5),
        ("name = ", 7),
        ("name = 'open", 8),
        ("(name = a", 10),
        ("name = a b", 10),
        ("name = a)", 9),
        ("name in a", 9),
        ("name in (a", 11),
        ("name not = a", 10),
        ("min(name) = a", 5),
        ("step ~ 1", 8),
        ("not " * 60 + "name = a", 205),
        ("(" * 60 + "name = a", 52),
    ],
)
def test_what_is_wrong_is_pointed_at(text: str, at: int) -> None:
    with pytest.raises(InvalidInput) as raised:
        parse_filter(text)
    assert f"at character {at}:" in raised.value.message
    assert raised.value.fields["filter"]


@given(st.text(alphabet="name metrics.val()<>=!~'\"`, and or not in 1.5e-\\模", max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(InvalidInput):
        parse_filter(text)
