"""Prices and costs, as decimals only."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from typing import Annotated, Optional

from pydantic import BeforeValidator, PlainSerializer

from danlu.spec.sentences import show

Span = tuple[datetime, Optional[datetime]]
"""Begin and end of a period in which resources were held; the end is None while they are."""

NUM_PLACES = 6
_PRICE = re.compile(r"[0-9]{1,7}(?:\.[0-9]{1,6})?", re.ASCII)
_SYMBOLS = {"CNY": "¥", "EUR": "€", "GBP": "£", "HKD": "HK$", "JPY": "¥", "KRW": "₩", "USD": "$"}
_HOUR = timedelta(hours=1)
_MICROSECOND = timedelta(microseconds=1)


def parse_price(value: object) -> Decimal:
    """Parse a price such as `18.4008`. Raise ValueError."""
    text = str(value).strip()
    if isinstance(value, bool) or not isinstance(value, (str, int, float, Decimal)) or not _PRICE.fullmatch(text):
        raise ValueError(
            f"expected a price from 0 to 9999999 with at most {NUM_PLACES} decimal places, such as 18.40, "
            f"got {show(value)}"
        )
    return Decimal(text)


def money_text(amount: Decimal) -> str:
    """Canonical text of an amount: at least two decimal places."""
    whole, _, rest = f"{amount:f}".partition(".")
    return f"{whole}.{rest.rstrip('0'):0<2}"


def cost(price_per_hour: Decimal, spans: Iterable[Span], now: datetime) -> Decimal:
    """Cost of these periods at this price; computed exactly and rounded once."""
    # a clock that was set back must not make a cost negative
    held = sum((max(timedelta(0), (end or now) - begin) for begin, end in spans), timedelta(0))
    exact = Fraction(price_per_hour) * Fraction(held // _MICROSECOND, _HOUR // _MICROSECOND) * 10**NUM_PLACES
    rounded = (2 * exact.numerator + exact.denominator) // (2 * exact.denominator)
    return Decimal(rounded).scaleb(-NUM_PLACES)


def show_price(price_per_hour: Decimal, currency: str) -> str:
    """A price with all digits: `¥18.4008/h`."""
    return f"{symbol(currency)}{money_text(price_per_hour)}/h"


def show_cost(amount: Decimal, currency: str) -> str:
    """A cost such as `¥12.35`; below 1 with four places, so that a short job does not look free."""
    places = Decimal("0.01") if amount >= 1 or not amount else Decimal("0.0001")
    return f"{symbol(currency)}{money_text(amount.quantize(places, rounding=ROUND_HALF_UP))}"


def symbol(currency: str) -> str:
    """`¥` for CNY; the currency code and a space where there is no common symbol."""
    return _SYMBOLS.get(currency, f"{currency} ")


Money = Annotated[Decimal, PlainSerializer(money_text, return_type=str)]
"""An amount as text on the wire."""

Price = Annotated[Money, BeforeValidator(parse_price)]
