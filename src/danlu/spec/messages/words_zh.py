"""Words of the server that are parameters of messages, in Chinese; all others are shown as they are."""

from __future__ import annotations

_NOUNS = {
    "flavor": "规格",
    "framework": "框架",
    "a flavor": "规格",
    "a framework": "框架",
    "a job": "任务",
    "this request": "请求",
    "this job": "任务",
    "the job": "任务",
}

WORDS: dict[str, dict[str, str]] = {
    "scope": {"project": "项目", "user": "用户"},
    "noun": _NOUNS,
    "given": {
        "a mapping": "映射",
        "a list": "列表",
        "an empty list": "空列表",
        "an empty one": "空命令",
        "none": "无",
        "both": "两者",
    },
    "state": {
        "queued": "排队中",
        "starting": "启动中",
        "running": "运行中",
        "stopping": "停止中",
        "paused": "已暂停",
        "succeeded": "已成功",
        "failed": "已失败",
        "stopped": "已停止",
    },
    "problem": {
        "switched off in the settings": "已在设置中关闭",
        "switched off in the settings, or no sandbox": "已在设置中关闭，或没有沙箱",
        "bubblewrap is not installed": "未安装 bubblewrap",
    },
    "what": {
        "attempts to sign in": "登录尝试",
        "registrations": "注册",
        "streams": "数据流",
        "a folder of the client": "是客户端的文件夹",
        "fetched by the client": "由客户端获取",
    },
}
"""By the name of the parameter."""

AMOUNTS = ("shape", "nodes", "asked", "quota", "used", "amounts", "amount", "largest", "images", "ranks")
"""Parameters with amounts of resources, nodes, or both; why nodes run no images; numbers of ranks."""

PHRASES: tuple[tuple[str, str], ...] = (
    (r"; and (\d+) more nodes$", "；以及另外 $1 个节点"),
    (r" and (\d+) more$", " 等（另有 $1 个）"),
    (r"(^|; )([^\s;]+): (overlays|there|its)\b", "$1$2：$3"),
    ("overlays cannot be mounted: ", "无法挂载 overlay："),
    ("there is no sandbox to run them in", "没有可运行镜像的沙箱"),
    ("its engine runs none", "其引擎不支持镜像"),
    ("there is no node", "没有节点"),
    (r"\branks? (\d)", "Rank $1"),
    (r"(^|; )([^;；：]+?) on ([^;；\s]+)", "$1$3：$2"),
    (r"(\d+) (\w+) that can be in a rank table \(of (\d+)\)", "$1 $2 可用于 rank table（共 $3）"),
    (r"(\d+) x \(", "$1 × ("),
    (r"\) and ", ") 和 "),
    (r"([\d.e+]+) cpus\b", "$1 核"),
    (r"(\d+) task slots\b", "$1 个实例位"),
    (r"(\d+) tasks\b", "$1 个实例"),
    (r" memory\b", " 内存"),
    (r"\bport (\d)", "端口 $1"),
    ("; ", "；"),
    (", ", "、"),
)
"""What is said in them, one after the other: patterns that Python and browsers read alike."""
