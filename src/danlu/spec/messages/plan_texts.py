"""What is told of plans and nodes: what is not isolated, what waits, what happens around the command."""

from __future__ import annotations

PLAN_TEXTS: dict[str, tuple[str, str]] = {
    # what a node lacks
    "no_sandbox": (
        "No sandbox ({problem}): jobs see the machine's files, each other's processes and the server's.",
        "没有沙箱（{problem}）：任务可以看到机器的文件、其他任务的进程和服务器的进程。",
    ),
    "not_own_user": (
        "Jobs run as the user who runs the server, because that is not root.",
        "任务以运行服务器的用户身份运行，因为该用户不是 root。",
    ),
    "calls_unfiltered": (
        "System calls are not filtered ({problem}): jobs can use more of the kernel than they need.",
        "系统调用未过滤（{problem}）：任务可以使用超出所需的内核功能。",
    ),
    "no_networks": (
        "No network of their own ({problem}): jobs share the ports of the machine and reach its services.",
        "没有独立网络（{problem}）：任务共用机器的端口，并能访问机器上的服务。",
    ),
    "no_way_out": (
        "No outgoing connections from a job's network ({problem}): a setup that downloads packages fails.",
        "任务的网络无法访问外部（{problem}）：需要下载包的准备步骤会失败。",
    ),
    "memory_unlimited": (
        "Memory limits are not enforced: control groups cannot be created here.",
        "内存上限不生效：此处无法创建控制组。",
    ),
    "cpu_unlimited": (
        "CPU shares are not enforced: control groups cannot be created here.",
        "CPU 份额不生效：此处无法创建控制组。",
    ),
    "processes_per_person": (
        "Processes are limited per user and not per task: control groups cannot be created here.",
        "进程数按用户而不是按实例限制：此处无法创建控制组。",
    ),
    "not_imported": ("Jobs cannot import {package}: {problem}.", "任务无法导入 {package}：{problem}。"),
    "npu_unhealthy": (
        "npu {number} is not given to jobs: npu-smi calls its health {health}",
        "NPU {number} 不分配给任务：npu-smi 报告其健康状态为 {health}",
    ),
    "held_by_others": (
        "Others hold {amount} here through Ray: jobs get none of that type.",
        "此处有 {amount} 由其他程序通过 Ray 占用：此处不向任务分配该类型的设备。",
    ),
    "ray_started_with": (
        "Ray was started with {amount} here: others are not used.",
        "此处 Ray 启动时带有 {amount}：其余不使用。",
    ),
    "node_unused": ("Not used: {problem}", "未使用：{problem}"),
    # why it runs no images
    "no_overlays": ("overlays cannot be mounted: {problem}", "无法挂载 overlay：{problem}"),
    "no_sandbox_for_images": ("there is no sandbox to run them in", "没有可运行镜像的沙箱"),
    # what is told of a plan
    "would_wait": ("it would wait: {inner}", "任务会排队：{inner}"),
    "devices_simulated": (
        "the devices of {node} are simulated: no such hardware is used",
        "节点 {node} 的设备是模拟的：不使用实际硬件",
    ),
    "only_in_image": (
        "only what is installed in {image} can be imported; danlu of the nodes is not visible there",
        "只能导入镜像 {image} 中安装的内容；看不到节点上的 danlu",
    ),
    "secrets_hidden": ("set in the job, but not shown: {secrets}", "已在任务中设置，但不显示：{secrets}"),
    "access_read": (
        "access: read; until its end the job reads what {who} may read",
        "access: read；任务结束前可以读取 {who} 可读的内容",
    ),
    "access_owner": (
        "access: owner; until its end the job reads what {who} may read, and in project {project} it submits jobs and "
        "changes data as {name} would as a member",
        "access: owner；任务结束前可以读取 {who} 可读的内容，"
        "并以成员 {name} 的身份在项目 {project} 中提交任务、修改数据",
    ),
    "succeeds_all": (
        "The job has succeeded when the command has ended with 0 in every task. One that fails ends the others.",
        "所有实例的命令都以 0 结束时，任务成功。任一实例失败会终止其余实例。",
    ),
    "succeeds_one": (
        "The job has succeeded when the command has ended with 0 in one task; the others are then ended.",
        "任一实例的命令以 0 结束时，任务成功；其余实例随后终止。",
    ),
    "succeeds_role": (
        "The job has succeeded when {role} has ended with 0; the other tasks are then ended. "
        "One that fails ends the others.",
        "{role} 以 0 结束时，任务成功；其余实例随后终止。任一实例失败会终止其余实例。",
    ),
}
