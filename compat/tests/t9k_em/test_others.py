"""Modules of the original that are not there say what is."""

from __future__ import annotations

import pytest

from t9k import ah, aimd


def test_assets_name_what_does_their_work() -> None:
    with pytest.raises(NotImplementedError, match=r"t9k.ah.commit .* next version"):
        ah.commit("/me/model/m", "second", add={"a": "b"})
    with pytest.raises(AttributeError, match="'commmit'"):
        ah.commmit  # noqa: B018
    assert "download" in ah.__all__


def test_what_is_not_public_says_so() -> None:
    with pytest.raises(NotImplementedError, match=r"t9k.aimd.create_trial .*danlu\.track"):
        aimd.create_trial()
