"""The node's short rule about keys says what the server's says."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from danlu.spec import paths
from danlu.transfer import keys

PARTS = st.text(st.sampled_from("ab.\\/\n\x7f\udce9é深 "), max_size=8) | st.sampled_from([".partial.", "x" * 240])


@given(st.lists(PARTS, max_size=5).map("/".join))
@example("x" * 241)
@example("é" * 121)
@example("/".join(["x" * 100] * 9))
@example("a/.partial.b/c")
def test_both_take_the_same_names(key: str) -> None:
    if keys.why_no_key(key):
        with pytest.raises(ValueError, match="key"):
            paths.check_key(key)
    else:
        paths.check_key(key)


def test_the_limits_are_the_same() -> None:
    assert (keys.MAX_KEY_BYTES, keys.MAX_PART_BYTES) == (paths.MAX_KEY_BYTES, paths.MAX_NAME_BYTES)
