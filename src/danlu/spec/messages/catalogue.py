"""Messages of the server: each has a code and parameters, and a text in every language is made from them.

The server stores the English text. `recognise` finds the code and the parameters of a text, so that rows of earlier
versions and messages of other machines are covered as well; a text without a code stays English.
`web/src/texts/zh/catalogue.json` is generated from this table: see `scripts/make_messages.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Optional

from pydantic import BaseModel, ConfigDict

from danlu.spec.messages.alert_texts import ALERT_TEXTS
from danlu.spec.messages.command_errors import COMMAND_ERRORS
from danlu.spec.messages.data_errors import DATA_ERRORS
from danlu.spec.messages.earlier import EARLIER
from danlu.spec.messages.errors import ERRORS
from danlu.spec.messages.explain_texts import EXPLAIN_TEXTS
from danlu.spec.messages.field_texts import FIELD_TEXTS
from danlu.spec.messages.languages import Language
from danlu.spec.messages.node_texts import NODE_TEXTS
from danlu.spec.messages.page_errors import PAGE_ERRORS
from danlu.spec.messages.page_texts import BENCH_PROBLEMS, PAGE_TEXTS, RUN_ENDS
from danlu.spec.messages.plan_texts import PLAN_TEXTS
from danlu.spec.messages.ray_texts import RAY_TEXTS
from danlu.spec.messages.reasons_zh import REASONS
from danlu.spec.messages.right_errors import RIGHT_ERRORS
from danlu.spec.messages.value_texts import VALUE_TEXTS
from danlu.spec.messages.variable_texts import VARIABLE_TEXTS
from danlu.spec.messages.words_zh import AMOUNTS, PHRASES, WORDS
from danlu.spec.reasons import CATALOGUE

_Patterns = tuple[tuple[str, "re.Pattern[str]"], ...]
MAX_CHARACTERS = 1000
"""Longer texts are somebody's output, not ours."""

MESSAGES: dict[str, tuple[str, str]] = {
    # `{inner}` is a message itself, `{time…}` a duration; all other parameters are shown as they are
    # waiting
    "in_use": ("requests {shape}, which is in use", "请求 {shape}，这些资源正在使用中"),
    "in_use_or_apart": (
        "requests {shape}, which is in use or free only in parts of different rings",
        "请求 {shape}，这些资源正在使用中，或只分散在不同的环中空闲",
    ),
    "in_use_or_apart_and": (
        "requests {shape}, which is in use or free only in parts of different rings; {inner}",
        "请求 {shape}，这些资源正在使用中，或只分散在不同的环中空闲；{inner}",
    ),
    "in_use_and_drained": (
        "requests {shape}, which is in use; node {node} is drained: {why}",
        "请求 {shape}，这些资源正在使用中；节点 {node} 已停止调度：{why}",
    ),
    "only_drained": (
        "requests {shape}; node {node} is drained: {why}",
        "请求 {shape}；节点 {node} 已停止调度：{why}",
    ),
    "in_use_and_some_drained": (
        "requests {shape}, which is in use; nodes {nodes} are drained: {why}",
        "请求 {shape}，这些资源正在使用中；节点 {nodes} 已停止调度：{why}",
    ),
    "only_some_drained": (
        "requests {shape}; nodes {nodes} are drained: {why}",
        "请求 {shape}；节点 {nodes} 已停止调度：{why}",
    ),
    "larger_than_nodes": (
        "requests {shape}, more than the nodes have even when empty: {nodes}",
        "请求 {shape}，超过空闲节点的全部资源：{nodes}",
    ),
    "one_engine": (
        "{inner}; all of its tasks must be on nodes of one engine ({engines})",
        "{inner}；其所有实例必须位于同一引擎的节点上（{engines}）",
    ),
    "over_project_quota": (
        "requests {asked}, more than the quota of the project ({quota})",
        "请求 {asked}，超过项目配额（{quota}）",
    ),
    "over_user_quota": (
        "requests {asked}, more than the quota of the owner in this project ({quota})",
        "请求 {asked}，超过所有者在该项目中的配额（{quota}）",
    ),
    "project_quota_used": (
        "requests {asked}; the quota of the project ({quota}) is in use",
        "请求 {asked}；项目配额（{quota}）已用完",
    ),
    "user_quota_used": (
        "requests {asked}; the quota of the owner in this project ({quota}) is in use",
        "请求 {asked}；所有者在该项目中的配额（{quota}）已用完",
    ),
    "no_ports_left": (
        "all ports for jobs on the network of their nodes ({first} to {last}) are in use",
        "节点网络上可供任务使用的端口（{first} 至 {last}）已全部占用",
    ),
    "making_room": (
        "requests {shape}; preemptible jobs are being stopped for it",
        "请求 {shape}；正在为其停止可抢占的任务",
    ),
    "reserving": (
        "requests {shape}; nodes are reserved for it as they become free",
        "请求 {shape}；空出的节点将为其保留",
    ),
    "retry_at": (
        "attempt {attempt} failed; the next one starts at {clock} UTC",
        "第 {attempt} 次运行失败；下一次将于 {clock}（UTC）开始",
    ),
    "retry_in": (
        "{inner}; retrying in {time} (retry {number} of {most})",
        "{inner}；{time}后重试（第 {number} 次，最多 {most} 次）",
    ),
    "again_when_free": (
        "{inner}; it starts again when resources are free",
        "{inner}；有空闲资源时将重新运行",
    ),
    # the queue, and what would help
    "quota_in_use": (
        "the quota of its {scope} has {used} of {quota} in use",
        "所属{scope}的配额 {quota} 中已用 {used}",
    ),
    "free_now": ("free now: {amounts}", "当前空闲：{amounts}"),
    "places": (
        "{places} of its {tasks} tasks would find a place",
        "{tasks} 个实例中有 {places} 个可以放置",
    ),
    "jobs_ahead": ("{count} jobs of its project are ahead", "项目中有 {count} 个任务排在前面"),
    "projects_ahead": ("{count} projects that hold less come first", "{count} 个占用更少的项目优先"),
    "room_in": ("room for it in {time} at the latest", "最迟 {time}后有空位"),
    "project_holding_less": ("the project holding {amount} less", "项目少占用 {amount}"),
    "you_holding_less": ("you holding {amount} less", "您少占用 {amount}"),
    "larger_quota": ("a quota of {amount}", "配额提高到 {amount}"),
    "be_preemptible": (
        "`preemptible: true`: preemptible jobs may use idle resources beyond the quota",
        "设置 `preemptible: true`：可抢占的任务可以使用配额之外的空闲资源",
    ),
    "end_or_smaller": (
        "the end of a job that holds what it requests, or a smaller request",
        "占用这些资源的任务结束，或减少请求",
    ),
    "fewer_tasks": ("a request of {places} tasks instead of {tasks}", "将请求从 {tasks} 个实例减为 {places} 个"),
    "end_of_others": ("the end of jobs that hold the rest", "占用其余资源的任务结束"),
    "smaller_request": ("a smaller request: the nodes cannot hold {largest}", "减少请求：节点容纳不下 {largest}"),
    "reopening": (
        "reopening a node (node {node} is drained: {why})",
        "恢复调度一个节点（节点 {node} 已停止调度：{why}）",
    ),
    "reopening_some": (
        "reopening a node (nodes {nodes} are drained: {why})",
        "恢复调度一个节点（节点 {nodes} 已停止调度：{why}）",
    ),
    # running
    "starting_on": ("attempt {attempt} is being started on {places}", "第 {attempt} 次运行正在 {places} 上启动"),
    "runs_on_one": ("the command runs on 1 node", "命令正在 1 个节点上运行"),
    "runs_on": ("the command runs on {count} nodes", "命令正在 {count} 个节点上运行"),
    "tasks_starting": ("tasks are being started", "正在启动实例"),
    "starts_on": ("attempt {attempt} starts on {places}", "第 {attempt} 次运行在 {places} 上启动"),
    "reachable_again": ("the node is online again", "节点已恢复在线"),
    "reachable_starting": (
        "the node is online again; tasks are being started",
        "节点已恢复在线；正在启动实例",
    ),
    "no_answer": (
        "no answer from {nodes}; the job is kept, because it may still be running",
        "{nodes} 没有应答；任务仍保留，因为它可能还在运行",
    ),
    "ending": ("{inner}; processes have {time} to end", "{inner}；进程有 {time}的宽限时间"),
    # ended
    "exit_code": ("{rank} ended with code {exit_code}", "{rank} 以退出码 {exit_code} 结束"),
    "no_exit_code": ("{rank} ended without an exit code", "{rank} 结束时没有退出码"),
    "killed": ("{rank} was killed by {signal}", "{rank} 被 {signal} 终止"),
    "terminated_outside": (
        "rank {rank} was terminated from outside Danlu",
        "Rank {rank} 被 Danlu 之外的操作终止",
    ),
    "rank_completes": (
        "{who} succeeded, which completes this job; the other tasks were stopped",
        "{who} 已成功，任务即告完成；其余实例已停止",
    ),
    "waited_too_long": (
        "waited {time}, longer than its max_wait of {time_limit}",
        "已等待 {time}，超过最长等待时间 {time_limit}",
    ),
    "ran_too_long": ("ran longer than its max_duration of {time_limit}", "运行时间超过最长运行时间 {time_limit}"),
    "start_too_slow": ("rank {rank} did not start within {time}", "Rank {rank} 未能在 {time}内启动"),
    "idle": (
        "idle for {time}, its idle limit",
        "空闲时间已达 {time}，即其空闲上限",
    ),
    "preempted_for": ("stopped to free resources for {who}", "已停止，为 {who} 让出资源"),
    "node_drained": ("node {node} is drained: {why}", "节点 {node} 已停止调度：{why}"),
    "nodes_drained": ("nodes {nodes} are drained: {why}", "节点 {nodes} 已停止调度：{why}"),
    # by users
    "submitted_by": ("submitted by {who}", "由 {who} 提交"),
    "restarted_by": ("started again by {who}", "由 {who} 重新运行"),
    "stop_asked_by": ("stop requested by {who}", "{who} 请求停止"),
    "preempted_for_it": ("{victim} is being preempted for it", "正在为其抢占 {victim}"),
    "stop_asked_disabled": (
        "stop requested by {who}, who disabled {name}",
        "{who} 停用 {name} 时请求停止",
    ),
    "pause_asked_by": ("pause requested by {who}", "{who} 请求暂停"),
    "resume_asked_by": ("resume requested by {who}", "{who} 请求继续"),
    "logs_removed": (
        "the logs of attempt {attempt} were removed after {days} days",
        "第 {attempt} 次运行的日志已在 {days} 天后删除",
    ),
    # what is wrong with a field
    "required": ("this field is required", "此项必填"),
    "expected_got": ("expected {inner}, got {given}", "应为{inner}，实际为 {given}"),
    "expected": ("expected {inner}", "应为{inner}"),
    "unknown_field_near": ("unknown field of {noun}; did you mean {near}?", "{noun} 没有此字段；是否为 {near}？"),
    "unknown_value_near": ("unknown value {given}; did you mean {near}?", "未知的值 {given}；是否为 {near}？"),
    "one_of": ("one of {choices}", "以下之一：{choices}"),
    "at_least": ("at least {number}", "至少 {number}"),
    "at_most": ("at most {number}", "至多 {number}"),
    "more_than": ("more than {number}", "大于 {number}"),
    "less_than": ("less than {number}", "小于 {number}"),
    "at_least_characters": ("at least {number} characters", "至少 {number} 个字符"),
    "at_most_characters": ("at most {number} characters", "至多 {number} 个字符"),
    "at_least_entries": ("at least {number} entries", "至少 {number} 项"),
    "at_most_entries": ("at most {number} entries", "至多 {number} 项"),
    "whole_number": ("a whole number", "整数"),
    "number": ("a number", "数字"),
    "some_text": ("text", "文本"),
    "list": ("a list", "列表"),
    "mapping": ("a mapping", "映射"),
    "mapping_such_as": ("a mapping such as {example}", "映射，例如 {example}"),
    "rank_says": ("rank {rank}: {inner}", "Rank {rank}：{inner}"),
    "spec_unreadable": (
        "this version of Danlu cannot parse the job's spec",
        "此版本的 Danlu 无法解析该任务的配置",
    ),
    **FIELD_TEXTS,
    **NODE_TEXTS,
    **RAY_TEXTS,
    **VALUE_TEXTS,
    **PLAN_TEXTS,
    **EXPLAIN_TEXTS,
    **ALERT_TEXTS,
    **PAGE_TEXTS,
    **VARIABLE_TEXTS,
}

FAILURES = {**ERRORS, **RIGHT_ERRORS, **DATA_ERRORS, **PAGE_ERRORS, **COMMAND_ERRORS}
"""What is told outside of fields. It is looked for in failures only: a log line may read alike."""

TEXTS = {**MESSAGES, **FAILURES, **BENCH_PROBLEMS}
"""Every message: code -> English, Chinese."""

CAUSES = {f"reason:{code}": (entry.cause, REASONS[code].cause) for code, entry in CATALOGUE.items()}
"""What a reason without details says."""


class Message(BaseModel):
    """What is said, in no language."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    code: str
    """A key of the catalogue; `text` for what has none: its only parameter is the text."""

    params: dict[str, str] = {}
    inner: Optional[Message] = None
    """What `{inner}` stands for."""


def say(code: str, **params: object) -> str:
    """The English text of a message."""
    return MESSAGES[code][0].format(**params)


@lru_cache(maxsize=10_000)
def recognise(text: str) -> Message:
    """Find the code and the parameters of a text; those of most letters of their own are tried first."""
    if text in _CODES:
        return Message(code=_CODES[text])
    return _found_in(_patterns(), text, recognise) or Message(code="text", params={"text": text})


@lru_cache(maxsize=10_000)
def recognise_failure(text: str) -> Message:
    """The same for the message of a failure."""
    return _found_in(_failure_patterns(), text, recognise_failure) or recognise(text)


def recognise_bench(text: str) -> Message:
    """The same for a problem of a benchmark's report."""
    return _found_in(_bench_patterns(), text, recognise) or Message(code="text", params={"text": text})


def recognise_end(text: str) -> Message:
    """The same for why a run ended. What its own program said stays as it is, however much it reads like ours."""
    found = recognise(text)
    return found if found.code in RUN_ENDS else Message(code="text", params={"text": text})


def _found_in(patterns: _Patterns, text: str, look: Callable[[str], Message]) -> Optional[Message]:
    for code, pattern in patterns if len(text) <= MAX_CHARACTERS else ():
        found = pattern.fullmatch(text)
        if found is None:
            continue
        params = found.groupdict()
        inner = params.pop("inner", None)
        return Message(code=code, params=params, inner=None if inner is None else look(inner))
    return None


def in_chinese(message: Message) -> str:
    if message.code in CAUSES:
        return CAUSES[message.code][1]
    known = TEXTS.get(message.code)
    if known is None:
        return message.params.get("text", "")
    shown = {name: _parameter(name, value) for name, value in message.params.items()}
    if message.inner is not None:
        shown["inner"] = in_chinese(message.inner)
    return known[1].format(**shown)


def sentence_in(english: str, language: Language) -> str:
    """A sentence of ours in a language; as it is where the catalogue has no other."""
    return (in_chinese(recognise(english)) or english) if language == "zh" else english


def failure_in(english: str, language: Language) -> str:
    """The same for the message of a failure."""
    return (in_chinese(recognise_failure(english)) or english) if language == "zh" else english


def _parameter(name: str, value: str) -> str:
    if name.startswith("time"):
        return chinese_time(value)
    return _in_phrases(value) if name in AMOUNTS else WORDS.get(name, {}).get(value, value)


def _in_phrases(value: str) -> str:
    for pattern, chinese in PHRASES:
        value = re.sub(pattern, re.sub(r"\$(\d)", r"\\g<\1>", chinese), value)
    return value


def chinese_time(text: str) -> str:
    """`1h02m` is `1 小时 2 分`."""
    units = {"d": "天", "h": "小时", "m": "分", "s": "秒"}
    found = re.findall(r"(\d+)([dhms])", text)
    return " ".join(f"{int(count)} {units[unit]}" for count, unit in found) or text


def _pattern(template: str) -> re.Pattern[str]:
    parts = re.split(r"\{(\w+)\}", template)
    return re.compile("".join(f"(?P<{part}>.+?)" if at % 2 else re.escape(part) for at, part in enumerate(parts)), re.S)


@cache
def _patterns() -> _Patterns:
    """Made when the first text is looked up: few processes do so, and it takes as long as loading the rest."""
    return _patterns_of(MESSAGES)


@cache
def _failure_patterns() -> _Patterns:
    return _patterns_of(FAILURES)


@cache
def _bench_patterns() -> _Patterns:
    return tuple((code, _pattern(english)) for code, (english, _) in BENCH_PROBLEMS.items())


def _patterns_of(messages: dict[str, tuple[str, str]]) -> _Patterns:
    texts = [(english, code) for code, (english, _) in messages.items()]
    texts += [(english, code) for english, code in EARLIER.items() if code in messages]
    return tuple((code, _pattern(english)) for english, code in sorted(texts, key=lambda item: _order(*item)))


def _order(template: str, code: str) -> tuple[int, int]:
    """What a field expects, what is around another message, the rest; in each, most letters of its own first."""
    names_its_field = template.startswith("invalid key ") or ": expected " in template
    if template.startswith("expected "):
        group = 0
    elif code in _AROUND_ANYTHING:
        group = 3
    elif "{inner}" in template:
        group = 1
    else:
        group = 2 if names_its_field else 4
    return group, -len(re.sub(r"\{\w+\}", "", template))


_AROUND_ANYTHING = {"of_field", "time_expected", "bad_key"}
"""They would fit what others say more exactly."""

_CODES = {english: code for english, code in EARLIER.items() if code in CAUSES}
_CODES |= {english: code for code, (english, _) in CAUSES.items()}
