"""Words that nobody of this field uses, and words for which we have another: docs/glossary.md is the rule."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]

INSTEAD_OF = {
    "Let in": "Approve",
    'What it is"': "Configuration",
    "What it is.": "Description.",
    "What failed": "Recent failures",
    "By hand": "Custom",
    "What rank 0 will see": "Launch preview (rank 0)",
    "ended with 0 on every": "Completed on all nodes",
    "polite signal": "SIGTERM",
    "Make a project;": "Create a project",
    "Make a bucket": "Create a bucket",
    "Make a model": "Create a model",
    "Into the bin": "Move to trash",
    "Devices at work": "Device utilization",
    "Password so far": "Current password",
    "not for you to see": "You don't have access",
    "is like that": "No matching …",
    "would be right": "expected …",
}
CHINESE_INSTEAD_OF = {
    "你": "您",
    "子任务": "实例",
    "排空": "停止调度",
    "可达": "在线",
    "位次": "排队序号",
    "遗忘": "删除",
    "礼貌": "终止信号（SIGTERM）",
    "尝试次数": "运行次数",
    "人员": "用户",
}
CHINESE_USED = (
    "资源配置",
    "启动预览（Rank 0）",
    "实例",
    "运行次数",
    "停止调度",
    "在线",
    "离线",
    "排队序号",
    "SIGTERM",
    "将被删除",
    "用户",
    "自定义",
    "单机",
    "自动滚动",
    "处理建议",
    "只读成员",
    "您",
)


def lines(folder: str, *endings: str, language: str = "") -> Iterator[tuple[str, str]]:
    for path in sorted((ROOT / folder).rglob("*")):
        is_zh = ".zh." in path.name or "/zh/" in path.as_posix()
        if path.suffix not in endings or path.name == "glossary.md" or (is_zh != (language == "zh")):
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            yield f"{path.relative_to(ROOT)}:{number}", line


def test_english_texts_use_the_words_of_the_field() -> None:
    texts = [*lines("web/src/texts/en", ".ts"), *lines("docs/guide", ".md"), *lines("docs/reference", ".md")]
    assert len(texts) > 1000
    found = [
        f"{where}: {wrong!r} is {right!r} in docs/glossary.md"
        for where, line in texts
        for wrong, right in INSTEAD_OF.items()
        if wrong in line
    ]
    assert found == []


def test_chinese_texts_use_one_word_for_one_thing() -> None:
    texts = [*lines("web/src/texts/zh", ".ts", ".json", language="zh"), *lines("docs", ".md", language="zh")]
    assert len(texts) > 1000
    found = [
        f"{where}: {wrong} 应为 {right}"
        for where, line in texts
        for wrong, right in CHINESE_INSTEAD_OF.items()
        if wrong in line
    ]
    assert found == []
    every = "\n".join(line for _, line in texts)
    assert [word for word in CHINESE_USED if word not in every] == []
