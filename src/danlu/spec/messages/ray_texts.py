"""What is told of clusters of Ray, in English and Chinese."""

from __future__ import annotations

RAY_TEXTS: dict[str, tuple[str, str]] = {
    "not_reachable": ("{nodes}: not reachable", "{nodes}：已离线"),
    "ray_silent": ("the head of the Ray cluster does not answer", "Ray 集群的头节点没有响应"),
    "ray_no_answer": (
        "the Ray cluster did not answer within {seconds} s ({request})",
        "Ray 集群在 {seconds} 秒内没有响应（{request}）",
    ),
    "ray_not_at": (
        "no Ray cluster answered at {address} within {seconds} s",
        "{address} 在 {seconds} 秒内没有 Ray 集群响应",
    ),
    "ray_ended": (
        "the process that connects to Ray has ended; it is being restarted",
        "与 Ray 通信的进程已结束；稍后会重新启动",
    ),
    "ray_ended_with": ("the process that connects to Ray has ended: {problem}", "与 Ray 通信的进程已结束：{problem}"),
    "ray_waits": (
        "waiting for Ray to reserve what {job} needs on {nodes}: it is in use",
        "等待 Ray 在 {nodes} 上为 {job} 预留资源：这些资源正被占用",
    ),
    "agent_unheard": (
        "the agent does not know the machines of the cluster yet; try again",
        "代理尚未得知集群有哪些机器；请重试",
    ),
    "no_node_of_cluster": ("{node} is not part of the cluster", "{node} 不属于该集群"),
    "too_many_shells": (
        "expected at most {number} shells and connections to {job} on a node, {most} to all jobs; close some",
        "每个节点上到 {job} 的终端和连接至多 {number} 个，到所有任务的至多 {most} 个；请关闭一些",
    ),
    "machines_not_closed": (
        "new machines of the cluster are not closed yet: {problem}",
        "集群的新机器尚未隔离：{problem}",
    ),
    "disk_full_for": ("the disk is full: cannot write {path}", "磁盘已满：无法写入 {path}"),
    "log_not_written": ("a log cannot be written: {problem}", "无法写入日志：{problem}"),
    "log_cut": ("{count} of {size} bytes of a log came from {node}", "从 {node} 收到日志 {size} 字节中的 {count} 字节"),
}
