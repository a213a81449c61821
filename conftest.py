"""For all tests of all distributions."""

from __future__ import annotations

from hypothesis import settings

# how long an example takes says more of what else runs on the machine than of the code
settings.register_profile("danlu", deadline=None)
settings.load_profile("danlu")
