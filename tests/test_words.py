"""Words that nobody of this field uses, and words for which we have another: docs/glossary.md is the rule."""

from __future__ import annotations

import ast
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
    "succeeded on every node": "Completed on all nodes",
    "polite signal": "SIGTERM",
    "Make a project;": "Create a project",
    "Make a bucket": "Create a bucket",
    "Make a model": "Create a model",
    "Into the bin": "Move to trash",
    "Devices at work": "Device utilization",
    "Password so far": "Current password",
    "not for you to see": "You don't have access",
    "not yours to": "you may not …",
    "no access here": "you don't have access to …",
    "(any more)": "no longer, or was deleted",
    "is like that": "No matching …",
    "would be right": "expected …",
    "when left out": "by default, when omitted",
    "may be left out": "may be omitted",
    "and that is the most": "which is the maximum",
    "became of them": "their results",
    "make somebody": "make another user",
    "somebody else's": "another user's",
    "asked for by": "requested by",
    "for so long": "for this long",
    "Nobody has used it": "Idle for …",
    "nobody has used it": "idle for …",
    "Open jobs": "Active jobs",
    "Where to go on": "Next steps",
    "cannot be seen:": "invisible characters:",
    "ran in this time": "ran in this period",
    "Together:": "Total:",
    "One row for each": "Group by",
    "is down. ": "has stopped. ",
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
    "不填": "留空",
    "加速卡": "设备、加速设备",
    "禁用": "停用",
    "自己的镜像": "自定义镜像",
    "各 rank": "各 Rank",
    "服务器上（已）": "服务器上已",
}
CHINESE_USED = (
    "基本信息",
    "资源配置",
    "启动预览（Rank 0）",
    "校验通过，可以提交",
    "实例",
    "运行次数",
    "停止调度",
    "在线",
    "离线",
    "排队序号",
    "终止信号（SIGTERM）",
    "将被删除",
    "用户",
    "自定义",
    "单机",
    "自动滚动",
    "处理建议",
    "只读成员",
    "您",
)
NAMED = {
    "en/admin.ts": ('approve: "Approve"', 'reject: "Reject"', 'makeProject: "Create project"'),
    "en/job.ts": ('what: "Configuration"', 'runsOn: "Resources"', "receives SIGTERM"),
    "en/jobs.ts": ('on: "Resources"', 'noMatchTitle: "No matching jobs"', "receives SIGTERM"),
    "en/overview.ts": ('failed: "Recent failures"',),
    "en/flavors.ts": ('byHand: "Custom"',),
    "en/submit.ts": ('plan: "Launch preview (rank 0)"',),
    "en/store.ts": ('makeBucket: "Create bucket"',),
    "en/profile.ts": ('makeKey: "Create key"', 'current: "Current password"'),
    "en/runs.ts": ('toBin: "Move to trash"',),
    "en/values.ts": ('across: "X axis"', 'up: "Y axis"'),
    "en/resources.ts": ('device: "Device utilization"',),
    "en/common.ts": ('notAllowedTitle: "You don\'t have access"',),
    "zh/submit.ts": (
        'what: "基本信息"',
        'where: "资源配置"',
        "启动预览（Rank 0）",
        "校验通过，可以提交",
        'regular: "单机"',
    ),
    "zh/job.ts": (
        'tasks: "实例"',
        'attempts: "运行次数"',
        "终止信号（SIGTERM）",
        'whatToDo: "处理建议"',
        'notes: "提示"',
    ),
    "zh/cluster.ts": ('drained: "已停止调度"', 'reachable: "在线"', 'unreachable: "离线"', 'place: "排队序号"'),
    "zh/flavors.ts": ('byHand: "自定义"',),
    "zh/log.ts": ('follow: "自动滚动"',),
    "zh/admin.ts": ('viewer: "只读成员"', 'people: "用户"', "将被删除"),
}
"""Texts of the console that somebody has stumbled over, as they are now."""
SPOKEN = ("cli", "client", "server", "gateway", "auth", "scheduler", "spec")
"""Folders whose texts people read: on the command line, and in answers of the server."""


def lines(folder: str, *endings: str, language: str = "") -> Iterator[tuple[str, str]]:
    for path in sorted((ROOT / folder).rglob("*")):
        is_zh = ".zh." in path.name or "/zh/" in path.as_posix()
        if path.suffix not in endings or path.name == "glossary.md" or (is_zh != (language == "zh")):
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            yield f"{path.relative_to(ROOT)}:{number}", line


def spoken(*folders: str) -> Iterator[tuple[str, str]]:
    """Texts of the code. Comments on the code itself are nobody's reading but ours, except those of commands."""
    for path in (one for folder in folders for one in sorted((ROOT / "src" / "danlu" / folder).rglob("*.py"))):
        tree = ast.parse(path.read_text())
        comments = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
                continue
            if id(node) not in comments or "cli" in path.parts:
                yield f"{path.relative_to(ROOT)}:{node.lineno}", node.value


def wrong_in(texts: list[tuple[str, str]], instead_of: dict[str, str]) -> list[str]:
    return [
        f"{where}: {wrong!r} is {right!r} in docs/glossary.md"
        for where, line in texts
        for wrong, right in instead_of.items()
        if wrong in line
    ]


def is_earlier(text: str) -> bool:
    """Whether it is here only to recognise what earlier versions have stored."""
    from danlu.spec.messages.earlier import EARLIER

    return text in EARLIER


def test_english_texts_use_the_words_of_the_field() -> None:
    texts = [*lines("web/src/texts/en", ".ts"), *lines("docs/guide", ".md"), *lines("docs/reference", ".md")]
    texts += [("README.md", (ROOT / "README.md").read_text())]
    assert len(texts) > 1000
    assert wrong_in(texts, INSTEAD_OF) == []


def test_messages_and_commands_use_them_too() -> None:
    texts = [(where, text) for where, text in spoken(*SPOKEN) if not is_earlier(text)]
    assert len(texts) > 3000
    assert wrong_in(texts, INSTEAD_OF) == []


def test_chinese_texts_use_one_word_for_one_thing() -> None:
    texts = [*lines("web/src/texts/zh", ".ts", ".json", language="zh"), *lines("docs", ".md", language="zh")]
    texts += spoken("spec/messages")
    assert len(texts) > 1000
    assert wrong_in(texts, CHINESE_INSTEAD_OF) == []
    every = "\n".join(line for _, line in texts)
    assert [word for word in CHINESE_USED if word not in every] == []


def test_texts_that_were_named_are_as_agreed() -> None:
    texts = ROOT / "web" / "src" / "texts"
    missing = {(file, one) for file, wanted in NAMED.items() for one in wanted if one not in (texts / file).read_text()}
    assert missing == set()
    assert "Completed on all nodes." in (ROOT / "src/danlu/spec/reasons.py").read_text()
