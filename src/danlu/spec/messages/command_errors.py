"""What a command refuses on the user's machine, before or instead of the server, in English and Chinese."""

from __future__ import annotations

COMMAND_ERRORS: dict[str, tuple[str, str]] = {
    # the server
    "no_server_at": (
        "no server answers at {url} ({problem}); `danlu up` starts one, DANLU_URL names another",
        "{url} 没有服务器响应（{problem}）；可用 `danlu up` 启动服务器，或用 DANLU_URL 指定其他服务器",
    ),
    "connection_broke": (
        "the connection to {url} broke off ({problem}); is the server up? `danlu up` starts one",
        "到 {url} 的连接中断（{problem}）；服务器是否在运行？可用 `danlu up` 启动",
    ),
    "no_address_of_server": (
        "{url} is not the address of a server; expected {example}",
        "{url} 不是服务器地址；应为 {example}",
    ),
    # the job file
    "file_unreadable": ("{path} cannot be read: {problem}", "无法读取 {path}：{problem}"),
    "not_utf8": ("{path} is not a text file in UTF-8", "{path} 不是 UTF-8 文本文件"),
    "not_yaml": ("{path}: not valid YAML: {problem}", "{path}：不是有效的 YAML：{problem}"),
    "job_file_empty": (
        "{path} is empty; a job file holds lines such as `name: mnist` and `command: python train.py`",
        "{path} 是空文件；任务文件应包含 `name: mnist`、`command: python train.py` 这样的行",
    ),
    "job_file_other": (
        "{path} holds a {kind}; a job file holds lines such as `name: mnist` and `command: python train.py`",
        "{path} 的内容是 {kind}；任务文件应包含 `name: mnist`、`command: python train.py` 这样的行",
    ),
    "no_setting": (
        "{setting} is not a setting; expected nodes=4 or hyperparameters.lr=0.1",
        "{setting} 不是有效的设置；应为 nodes=4 或 hyperparameters.lr=0.1 这样的形式",
    ),
    "setting_without_fields": (
        "{setting}: {name} is {value}, which has no fields of its own",
        "{setting}：{name} 为 {value}，没有下级字段",
    ),
    "duplicate_field": (
        "{place}: duplicate field {name}, first in line {number}",
        "{place}：字段 {name} 重复，首次出现在第 {number} 行",
    ),
    # the code folder
    "code_is_file": (
        "code: the folder {folder} is a file; name the folder it is in",
        "code：{folder} 是文件；请指定其所在的文件夹",
    ),
    "code_not_there": ("code: the folder {folder} does not exist", "code：文件夹 {folder} 不存在"),
    "wants_rank": ("expected a rank from 0 to {last}", "Rank 应为 0 到 {last}"),
}
