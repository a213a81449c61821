"""The catalogue of messages: what the server says, in every language."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from danlu.spec.messages.catalogue import (
    CAUSES,
    FAILURES,
    MESSAGES,
    Message,
    chinese_time,
    in_chinese,
    recognise,
    recognise_failure,
    say,
)
from danlu.spec.messages.earlier import EARLIER
from danlu.spec.messages.reasons_zh import REASONS
from danlu.spec.reasons import CATALOGUE

NAMES = re.compile(r"\{(\w+)\}")


def test_every_reason_has_chinese_words() -> None:
    assert set(REASONS) == set(CATALOGUE)


@pytest.mark.parametrize("code", [*MESSAGES, *FAILURES])
def test_both_languages_say_the_same_parameters(code: str) -> None:
    english, chinese = {**MESSAGES, **FAILURES}[code]
    assert sorted(NAMES.findall(english)) == sorted(NAMES.findall(chinese))
    assert re.search("[一-鿿：]", chinese)


@pytest.mark.parametrize("code", MESSAGES)
def test_a_message_is_recognised_by_its_text(code: str) -> None:
    params = {
        name: {"inner": "rank 0 ended with code 1", "time": "30s"}.get(name, "7")
        for name in NAMES.findall(MESSAGES[code][0])
    }
    text = say(code, **params)
    inner = params.pop("inner", None)
    expected = None if inner is None else Message(code="exit_code", params={"rank": "rank 0", "exit_code": "1"})
    assert recognise(text) == Message(code=code, params=params, inner=expected)
    assert not re.search(r"\{\w+\}", in_chinese(recognise(text)))


@pytest.mark.parametrize("code", FAILURES)
def test_a_failure_is_recognised_by_its_text(code: str) -> None:
    params = {name: {"inner": "no user 7", "time": "30s"}.get(name, "7") for name in NAMES.findall(FAILURES[code][0])}
    text = FAILURES[code][0].format(**params)
    inner = params.pop("inner", None)
    expected = None if inner is None else Message(code="no_user", params={"name": "7"})
    assert recognise_failure(text) == Message(code=code, params=params, inner=expected)


@pytest.mark.parametrize(("text", "code"), EARLIER.items())
def test_texts_of_earlier_versions_are_recognised(text: str, code: str) -> None:
    params = {name: "30s" if name == "time" else "7" for name in NAMES.findall(text)}
    assert recognise(text.format(**params)) == Message(code=code, params=params)


def test_words_of_the_server_are_parameters_in_chinese() -> None:
    told = in_chinese(recognise_failure("job-1 is running; only a job that has ended can be started again"))
    assert told == "job-1 的状态为“运行中”；只有已结束的任务可以重新运行"
    assert in_chinese(recognise("expected a number, got a list")) == "应为数字，实际为 列表"
    assert recognise("job-1 has no alias x").code == "text"  # not a failure: it may be a line of a log


def test_a_reason_without_details_and_messages_in_messages_are_told_in_chinese() -> None:
    assert in_chinese(recognise(CATALOGUE["done"].cause)) == REASONS["done"].cause == CAUSES["reason:done"][1]
    text = "rank 0 ended with code 1; retrying in 1m05s (retry 1 of 3)"
    assert in_chinese(recognise(text)) == "rank 0 以退出码 1 结束；1 分 5 秒后重试（第 1 次，最多 3 次）"
    assert in_chinese(recognise("rank 3: the disk is full")) == "Rank 3：the disk is full"
    assert in_chinese(recognise("expected at least 1, got 0")) == "应为至少 1，实际为 0"
    assert chinese_time("1d03h") == "1 天 3 小时"


@given(st.text())
def test_any_text_can_be_told(text: str) -> None:
    assert isinstance(in_chinese(recognise(text)), str)
    assert in_chinese(recognise(f"qz{text}")) == f"qz{text}" or recognise(f"qz{text}").code != "text"
