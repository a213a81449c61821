"""Which language a reader wants: of a browser's header, and of a locale."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.spec.test_messages import NAMES

from danlu.spec.messages.command_texts import FAILURE, PLAN
from danlu.spec.messages.languages import Language, Words, accepted, of_locale, word
from danlu.spec.messages.site_texts import MAIL, SITE


@pytest.mark.parametrize(
    ("header", "language"),
    [
        (None, "en"),
        ("", "en"),
        ("*", "en"),
        ("zh", "zh"),
        ("zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        ("ZH-Hant-TW", "zh"),
        ("en-US,en;q=0.9,zh;q=0.8", "en"),
        ("zh;q=0.8,en-US;q=0.9", "en"),
        ("en;q=0.5, zh ; q=0.7", "zh"),
        ("de-DE,de,zh;q=0.3", "zh"),
        ("de,fr", "en"),
        ("zh;q=0", "en"),
        ("zh;q=0,en", "en"),
        ("zh;q=2", "en"),
        ("zha", "en"),
        ("en;q=zh,zh", "zh"),
        ("<script>,zh", "zh"),
        (f"{'x,' * 10_000}zh", "en"),
        (f"{'x' * 10_000},zh", "en"),
    ],
)
def test_a_header_is_read(header: str | None, language: Language) -> None:
    assert accepted(header) == language


@given(st.text())
def test_any_header_can_be_read(header: str) -> None:
    assert accepted(header) in ("en", "zh")


def test_a_locale_is_read_as_programs_read_it() -> None:
    chinese, english = "zh_CN.UTF-8", "en_US.UTF-8"
    assert of_locale({}) == "en"
    assert of_locale({"LANG": chinese}) == "zh"
    assert of_locale({"LC_ALL": chinese, "LANG": english}) == "zh"
    assert of_locale({"LC_ALL": english, "LANG": chinese}) == "en"


@pytest.mark.parametrize("words", [SITE, MAIL, PLAN, FAILURE])
def test_words_are_in_both_languages_with_the_same_values(words: Words) -> None:
    for code in words:
        english, chinese = (word(words, code, language=language) for language in ("en", "zh"))
        assert sorted(NAMES.findall(english)) == sorted(NAMES.findall(chinese)), code
        assert english, code
        assert chinese, code
