"""Prices and costs: decimal from end to end, never a float."""

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
"""From when until when something was held; None: it still is."""

NUM_PLACES = 6
_PRICE = re.compile(r"[0-9]{1,7}(?:\.[0-9]{1,6})?", re.ASCII)
_SYMBOLS = {"CNY": "¥", "EUR": "€", "GBP": "£", "HKD": "HK$", "JPY": "¥", "KRW": "₩", "USD": "$"}
_HOUR = timedelta(hours=1)
_MICROSECOND = timedelta(microseconds=1)


def parse_price(value: object) -> Decimal:
    """Read a price as people write it: `18.4008`. Raise ValueError with what would be right."""
    text = str(value).strip()
    if isinstance(value, bool) or not isinstance(value, (str, int, float, Decimal)) or not _PRICE.fullmatch(text):
        raise ValueError(
            f"{show(value)} is not a price; 0 to 9999999 with at most {NUM_PLACES} decimal places would be right, "
            "such as 18.40"
        )
    return Decimal(text)


def money_text(amount: Decimal) -> str:
    """The one text of an amount: two decimal places, more only where there are more."""
    whole, _, rest = f"{amount:f}".partition(".")
    return f"{whole}.{rest.rstrip('0'):0<2}"


def cost(price_per_hour: Decimal, spans: Iterable[Span], now: datetime) -> Decimal:
    """What holding something for these times costs at this price, exactly, and rounded once, at the end."""
    # a clock that was set back must not make a job cheaper than nothing
    held = sum((max(timedelta(0), (end or now) - begin) for begin, end in spans), timedelta(0))
    exact = Fraction(price_per_hour) * Fraction(held // _MICROSECOND, _HOUR // _MICROSECOND) * 10**NUM_PLACES
    rounded = (2 * exact.numerator + exact.denominator) // (2 * exact.denominator)
    return Decimal(rounded).scaleb(-NUM_PLACES)


def show_price(price_per_hour: Decimal, currency: str) -> str:
    """A price for people, in full: `¥18.4008/h`."""
    return f"{symbol(currency)}{money_text(price_per_hour)}/h"


def show_cost(amount: Decimal, currency: str) -> str:
    """A cost for people: `¥12.35`; less than one unit with four places, so that a short job does not look free."""
    places = Decimal("0.01") if amount >= 1 or not amount else Decimal("0.0001")
    return f"{symbol(currency)}{money_text(amount.quantize(places, rounding=ROUND_HALF_UP))}"


def symbol(currency: str) -> str:
    """`¥` for CNY; a currency without a sign that everybody knows is its code and a blank."""
    return _SYMBOLS.get(currency, f"{currency} ")


Money = Annotated[Decimal, PlainSerializer(money_text, return_type=str)]
"""An amount as text on the wire."""

Price = Annotated[Money, BeforeValidator(parse_price)]
