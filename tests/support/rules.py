"""The table of rights: every route, and what everybody gets there. How to read it: tests/support/rights.py

It is in parts, by area; a route is in one of them.
"""

from __future__ import annotations

from tests.support.rights import Rule
from tests.support.rules_of_data import DATA_RULES
from tests.support.rules_of_jobs import JOB_RULES
from tests.support.rules_of_people import PEOPLE_RULES

RULES: dict[tuple[str, str], Rule] = {**JOB_RULES, **DATA_RULES, **PEOPLE_RULES}
