"""The catalogue of reasons in Chinese. `spec/reasons.py` has the English; a test compares their codes."""

from __future__ import annotations

from typing import NamedTuple


class Words(NamedTuple):
    cause: str
    remedy: str


REASONS: dict[str, Words] = {
    "submitted": Words("调度器尚未处理该任务。", "请稍候。"),
    "no_capacity": Words("所需资源正在使用中。", "请等待，停止占用资源的任务，或减少请求。"),
    "quota_project": Words("项目配额不足。", "等待项目中的任务结束，向管理员申请更大配额，或以可抢占方式提交。"),
    "quota_user": Words(
        "所有者在该项目中的配额不足。", "等待自己的任务结束，向项目所有者申请更大配额，或以可抢占方式提交。"
    ),
    "making_room": Words("可抢占的任务正在为其让出资源。", "请等待：它们有宽限时间保存进度。"),
    "reserved": Words("任务等待已久，空出的节点将为其保留。", "请等待：这些节点上的任务结束后即启动。"),
    "preempted": Words("任务已为其他任务让出资源，稍后重新运行。", "请等待。保存检查点的脚本会从原处继续。"),
    "no_such_node": Words("没有节点（即使空闲）满足该任务的请求。", "减少请求，或增加节点。"),
    "drained": Words("所需资源只在已停止调度的节点上，那里不启动新任务。", "等待节点恢复调度，或减少请求。"),
    "no_nodes": Words("当前没有可用节点。", "请查看节点和服务器日志。"),
    "retry_wait": Words("任务将在暂停后重试。", "请稍候。"),
    "paused": Words("任务已被暂停。", "点击“继续”可重新排队。"),
    "starting": Words("正在启动实例并下载输入。", "请稍候。"),
    "running": Words("命令正在所有节点上运行。", "可在“日志”中实时查看。"),
    "finishing": Words("决定成败的实例已成功，其余实例正在结束。", "请稍候。"),
    "stopping": Words("任务正在停止，处于宽限时间内。", "请稍候。"),
    "unreachable": Words("节点没有应答。任务并未结束，可能仍在运行。", "请检查节点；节点恢复后任务会被重新找到。"),
    "done": Words("已在所有节点上完成。", "请查看结果。"),
    "exit_code": Words("命令以非 0 退出码结束。", "请阅读所示 Rank 的最后几行日志。"),
    "killed_by_signal": Words("命令被信号终止。", "请阅读所示 Rank 的最后几行日志；SIGSEGV 和 SIGABRT 表示程序崩溃。"),
    "out_of_memory": Words("命令使用的内存超过请求量。", "增大内存请求，或减少用量。"),
    "disk_limit": Words(
        "任务占用的磁盘空间超过上限，或某个文件增长到了上限。",
        "请减少写入，删除旧的检查点，或请管理员调高 `max_disk_bytes`。",
    ),
    "process_limit": Words(
        "任务的进程和线程数达到上限，无法再启动新的，因而失败。",
        "请减少工作进程或线程数（OMP_NUM_THREADS），或请管理员调高 `max_processes`。",
    ),
    "setup_failed": Words("准备脚本以非 0 退出码结束。", "请阅读日志开头的准备脚本输出。"),
    "pre_start_failed": Words("ma-pre-start.sh 以非 0 退出码结束。", "请阅读日志开头的脚本输出。"),
    "command_not_found": Words("命令不存在或不可执行。", "请检查拼写、代码目录和执行权限。"),
    "input_missing": Words("存储中缺少任务的代码或数据。", "请重新上传。"),
    "image_missing": Words("镜像不存在或无权拉取。", "请检查名称；私有镜像需提供登录信息。"),
    "environment_failed": Words("任务的依赖包无法安装。", "请查看日志中安装程序的输出，修改 requirements 或软件源。"),
    "image_failed": Words("镜像无法送达节点。", "请重试；若仍失败，可在节点上手动拉取。"),
    "staging_failed": Words("无法从存储下载输入。", "请重试；若仍失败，请查看服务器日志。"),
    "upload_failed": Words("命令已结束，但结果无法上传到存储。", "文件保留在节点的任务目录中，直到任务被删除。"),
    "disk_full": Words("磁盘空间不足。", "请清理所示磁盘。"),
    "start_failed": Words("引擎无法启动实例。", "请阅读说明。"),
    "start_timeout": Words("实例未能按时启动。", "请检查节点和输入的大小。"),
    "lost": Words("监视进程已消失，且没有留下结束记录。", "节点可能重启过。请重新运行任务，或设置重试。"),
    "cut_off": Words("节点与集群失去联系过久，实例已停止。", "请检查节点的网络。请重新启动任务，或设置重试。"),
    "stopped_outside": Words("进程被外部终止。", "机器可能被关闭。请重新运行任务，或设置重试。"),
    "queue_timeout": Words("排队时间超过最长等待时间。", "延长最长等待时间或减少请求后重新提交。"),
    "max_duration": Words("运行时间超过最长运行时间。", "请延长最长运行时间。"),
    "idle_limit": Words(
        "任务空闲时间达到空闲上限，已自动结束。", "点击“重新运行”可再次运行；延长空闲上限可让它等待更久。"
    ),
    "stopped_by_user": Words("任务已被停止。", "点击“重新运行”可再次运行。"),
    "cannot_plan": Words("任务按当前配置无法规划。", "请阅读说明。"),
}
