"""Words of commands that are whole in the reader's language, in English and Chinese; looked up by code."""

from __future__ import annotations

from danlu.spec.messages.languages import Words

FAILURE: Words = {
    "invalid_job": ("invalid job: ", "任务无效："),
}
"""What is before the fields of a failure."""

PLAN: Words = {
    # the plan
    "rank": ("rank {rank} ({role})", "Rank {rank}（{role}）"),
    "node": ("node {name}", "节点 {name}"),
    "host": ("host {name}", "主机名 {name}"),
    "address": ("address {name}", "地址 {name}"),
    "device": ("device {name}", "设备 {name}"),
    "between": (", ", "，"),
    "command": ("command", "命令"),
    "environment": ("environment", "环境变量"),
    "image": ("image {name}", "镜像 {name}"),
    "packages": ("packages {names}", "包 {names}"),
    "packages_for": ("packages {names} (Python {version})", "包 {names}（Python {version}）"),
    "packages_of_server": ("of the server", "服务器的包"),
    "mount_home": (
        "folder {path} (home of {name}, outlives the job)",
        "文件夹 {path}（{name} 的主目录，任务结束后保留）",
    ),
    "mount_shared": (
        "folder {path} (shared in project {name}, outlives the job)",
        "文件夹 {path}（项目 {name} 共用，任务结束后保留）",
    ),
    "file": ("file {path}", "文件 {path}"),
    "inputs": ("inputs", "输入"),
    "outputs": ("outputs", "输出"),
    "while_running": ("{path} -> {to} (while it runs)", "{path} -> {to}（运行期间）"),
    "at_end": ("{path} -> {to} (at the end)", "{path} -> {to}（结束时）"),
    "notes": ("notes", "注意事项"),
    "price": ("price  {price} for all nodes", "价格  {price}（所有节点）"),
    "more_lines": ("... and {count} more lines; --json shows them", "……以及另外 {count} 行；--json 可显示全部"),
    # explained
    "not_explained": ("this server does not explain plans", "此服务器不支持说明启动预览"),
    "starts": ("How it is started", "如何启动"),
    "succeeds": ("When it has succeeded", "何时算成功"),
    "good_to_know": ("Good to know", "须知"),
    "title": ("Rank {rank}", "Rank {rank}"),
    "place": (
        "a {role} on {node}, known to the others as {host} ({address})",
        "{node} 上的 {role}，其他实例通过 {host}（{address}）访问",
    ),
    "place_with": (
        "a {role} on {node}, known to the others as {host} ({address}), with {devices}",
        "{node} 上的 {role}，其他实例通过 {host}（{address}）访问，设备为 {devices}",
    ),
    "runs_in": ("runs in {path}", "运行目录 {path}"),
    "runs": ("runs", "运行"),
    "script": ("{program}, which reads", "{program}，内容为"),
    "variables_from": ("variables from {source}", "变量，来源：{source}"),
    "variable": ("{what}; for {readers}", "{what}（使用者：{readers}）"),
    "files": ("files", "文件"),
    "folders": ("folders", "文件夹"),
    "fetched": ("fetched before it starts", "启动前获取"),
    "as_first": ("as rank {rank}, but", "与 Rank {rank} 相同，以下除外"),
}
