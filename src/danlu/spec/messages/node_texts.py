"""What nodes and engines tell of tasks: why one did not start, was ended or lost, in English and Chinese.

Nodes send English, so that nodes of other versions are understood: `recognise` finds the code.
"""

from __future__ import annotations

NODE_TEXTS: dict[str, tuple[str, str]] = {
    # how a task ended
    "command_ended": ("the command ended with code {exit_code}", "命令以退出码 {exit_code} 结束"),
    "and_code": ("{inner}; the command ended with code {exit_code}", "{inner}；命令以退出码 {exit_code} 结束"),
    "and_kept": ("{inner}; the files are kept in {folder}", "{inner}；文件保留在 {folder}"),
    "ended_outside": (
        "the task received SIGTERM from outside Danlu, for example because the machine shut down",
        "实例收到来自 Danlu 之外的终止信号（SIGTERM），例如机器关机时",
    ),
    "killed_outside": ("the task was killed from outside (SIGKILL)", "实例被 Danlu 之外的操作强制终止（SIGKILL）"),
    "signal_ended": ("{signal} ended the command", "命令被 {signal} 终止"),
    "memory_limit": (
        "the task used more than its memory of {size}, and the kernel ended one of its processes",
        "实例使用的内存超过 {size}，内核终止了其中一个进程",
    ),
    "memory_used_up": (
        "the task used more than its memory, and the kernel ended one of its processes",
        "实例使用的内存超过上限，内核终止了其中一个进程",
    ),
    "processes_used_up": (
        "the task reached its limit of {number} processes and threads, and could not start another",
        "实例已达到 {number} 个进程和线程的上限，无法再启动新的",
    ),
    "log_too_long": ("the log reached the disk limit of the task", "日志已达到实例可占用的磁盘上限"),
    "file_too_large": ("a file reached the disk limit of the task", "有文件已达到实例可占用的磁盘上限"),
    "log_too_long_for": (
        "the log reached the disk limit of the task (max_disk_bytes: {bytes})",
        "日志已达到实例可占用的磁盘上限（max_disk_bytes：{bytes}）",
    ),
    "file_too_large_for": (
        "a file reached the disk limit of the task (max_disk_bytes: {bytes})",
        "有文件已达到实例可占用的磁盘上限（max_disk_bytes：{bytes}）",
    ),
    "holds_too_much": (
        "the task uses {held} of disk space, and its limit is {size}; "
        "write less, remove old checkpoints, or ask an admin for a higher max_disk_bytes",
        "实例在磁盘上占用 {held}，上限为 {size}；请减少写入、删除旧的检查点，或请管理员提高 max_disk_bytes",
    ),
    "disk_not_measured": (
        "the disk usage of the task cannot be measured: {problem}",
        "无法测量实例占用的磁盘空间：{problem}",
    ),
    "no_room_on_disk": ("no room on the disk of {folder}", "{folder} 所在磁盘空间不足"),
    "cannot_execute": ("cannot execute {word}: {problem}", "无法执行 {word}：{problem}"),
    "the_code": ("the code is {exit_code}", "退出码为 {exit_code}"),
    "no_sandbox_end": ("the sandbox ended before the command began", "沙箱在命令开始前已结束"),
    "no_word": (
        "no contact with the cluster for {seconds} s; the task is stopped",
        "{seconds} 秒没有收到集群的消息；实例已停止",
    ),
    # what is told of a task that is lost
    "no_task_folder": ("the node has no folder of this task", "节点上没有该实例的文件夹"),
    "shim_never_began": (
        "the task was prepared, but its supervisor process did not start",
        "实例已准备好，但其监视进程没有启动",
    ),
    "machine_restarted": ("the machine was restarted while the task ran", "实例运行期间机器重启"),
    "shim_killed": ("the supervisor process of the task was killed", "实例的监视进程被终止"),
    "silent_node": (
        "{problem} for {seconds} s; by now its tasks have stopped",
        "{problem}，已 {seconds} 秒；其实例此时已停止",
    ),
    # inputs and outputs
    "input_refused": ("the server refused an input: {status} {inner}", "服务器拒绝了输入：{status} {inner}"),
    "input_not_fetched": (
        "an input could not be fetched: {inner} (tried for {seconds} s)",
        "无法获取输入：{inner}（已重试 {seconds} 秒）",
    ),
    "input_damaged": ("an input arrived damaged: {inner}", "收到的输入已损坏：{inner}"),
    "input_not_written": ("an input could not be written: {inner}", "无法写入输入：{inner}"),
    "upload_refused": ("the server refused an upload: {status} {inner}", "服务器拒绝了上传：{status} {inner}"),
    "server_not_reached": (
        "the server could not be reached: {inner} (tried for {seconds} s)",
        "无法连接服务器：{inner}（已重试 {seconds} 秒）",
    ),
    "stager_failed": ("the stager failed: {problem}", "传输进程出错：{problem}"),
    "stager_silent": (
        "the stager ended without a message (status {status}); see {file}",
        "传输进程未留下消息就结束（状态 {status}）；请查看 {file}",
    ),
    "transfer_cut": (
        "the transfer was cut short because the task is being stopped",
        "实例被要求结束，传输中断",
    ),
    "store_has_none": (
        "{place}: the store has no object and no folder of that name",
        "{place}：存储中没有该名称的对象或文件夹",
    ),
    "service_has_none": (
        "{place}: the service has no object and no folder of that name",
        "{place}：该服务中没有该名称的对象或文件夹",
    ),
    "unreadable_here": ("{place} cannot be read here: {problem}", "{place} 无法在此读取：{problem}"),
    "only_reference": (
        "{place}: {path} is not a file but a reference to {uri}",
        "{place}：{path} 不是文件，而是对 {uri} 的引用",
    ),
    "not_below": ("{path} is not a path below a folder", "{path} 不是文件夹内的路径"),
    "wants_secret": (
        "{place}: expected ACCESS_KEY_ID:SECRET_ACCESS_KEY in the job secret",
        "{place}：任务密钥应为 ACCESS_KEY_ID:SECRET_ACCESS_KEY",
    ),
    "list_declares": (
        "{place}: expected a list of objects without XML declarations",
        "{place}：应为不含 XML 声明的对象列表",
    ),
    "list_no_xml": ("{place}: the list of objects is not XML: {problem}", "{place}：对象列表不是 XML：{problem}"),
    "wants_https": ("expected an https:// address, got {given}", "应为 https:// 地址，实际为 {given}"),
    "wants_sha256": (
        "{place}: expected the SHA-256 {expected}, got {given}",
        "{place}：SHA-256 应为 {expected}，实际为 {given}",
    ),
    "answer_too_large": ("{place}: the answer is larger than {bytes} bytes", "{place}：响应超过 {bytes} 字节"),
    "too_many_redirects": ("{place}: more than {count} redirects", "{place}：重定向超过 {count} 次"),
    "bad_certificate": (
        "{place}: its certificate is not valid here: {problem}",
        "{place}：其证书在此无效：{problem}",
    ),
    "wants_at_most": (
        "{place}: expected at most {bytes} bytes, got {given} or more",
        "{place}：应至多 {bytes} 字节，实际为 {given} 或更多",
    ),
    "not_whole_after": ("{place}: not whole after {hours} hours", "{place}：{hours} 小时后仍不完整"),
    "no_address": ("{host} has no address", "{host} 没有地址"),
    "not_public": (
        "{host} is at {address}, which is not a public address; admins can list its network",
        "{host} 的地址为 {address}，不是公网地址；管理员可以将其网络加入列表",
    ),
    "not_looked_up": ("{host} cannot be looked up ({problem})", "无法解析 {host}（{problem}）"),
    "bytes_arrived": ("{count} of {size} bytes arrived", "已收到 {size} 字节中的 {count} 字节"),
    # environments
    "environment_unusable": ("the requirements cannot be used: {inner}", "无法使用依赖清单：{inner}"),
    "requirements_unread": ("they cannot be read", "无法读取"),
    "uv_lock_needs_uv": (
        "uv.lock needs uv on the node; install it there, or send requirements.txt (uv export)",
        "uv.lock 需要节点上有 uv；请安装，或改用 requirements.txt（uv export）",
    ),
    "not_installed": ("{tool} could not install {file}: {inner}", "{tool} 无法安装 {file}：{inner}"),
    "ended_with": ("it ended with {exit_code}", "退出码为 {exit_code}"),
    "no_environment": ("no environment: {problem}", "没有环境：{problem}"),
    "no_editable": (
        "{line}: editable packages cannot be shared; leave the line out, the code folder is where the command starts, "
        "or name the package without -e",
        "{line}：可编辑的包不能共享；请删除该行（命令在代码目录中启动），或去掉 -e",
    ),
    "wants_file_in_code": (
        "{line}: expected a file of the code folder, got an address",
        "{line}：应为代码目录中的文件，实际为地址",
    ),
    "wants_path_in_code": (
        "{line}: expected a path in the code folder, such as ./wheels/x.whl",
        "{line}：应为代码目录中的路径，例如 ./wheels/x.whl",
    ),
    "not_in_code": (
        "{path} is not in the code folder; a file that .danluignore names is not sent",
        "{path} 不在代码目录中；.danluignore 中的文件不会发送",
    ),
    "outside_code": (
        "{path} is outside of the code folder; expected a path in it",
        "{path} 在代码目录之外；应为其中的路径",
    ),
    "too_large": ("{path} has more than {number} MiB", "{path} 超过 {number} MiB"),
    "requirements_too_many": (
        "the requirements refer to more than {number} files",
        "依赖清单引用的文件超过 {number} 个",
    ),
    "bad_toml": ("{path} is not valid TOML: {problem}", "{path} 不是有效的 TOML：{problem}"),
    "needs_python_311": (
        "{path}: the node needs Python 3.11 to read it; expected requirements.txt",
        "{path}：节点需要 Python 3.11 才能读取；请改用 requirements.txt",
    ),
    "no_dependencies": (
        "{path} has no [project] with dependencies; expected requirements.txt",
        "{path} 没有带依赖的 [project]；请改用 requirements.txt",
    ),
    "wants_dependency_list": (
        "{path}: project.dependencies: expected a list of texts",
        "{path}：project.dependencies 应为文本列表",
    ),
    "python_one_of": (
        "python: expected one of {choices} (those of {node}), got {given}",
        "python：应为 {choices} 之一（节点 {node} 上的版本），实际为 {given}",
    ),
    "python_silent": (
        "requirements: the Python of {node} does not answer",
        "requirements：节点 {node} 的 Python 没有响应",
    ),
    "no_installer": (
        "requirements: {node} has neither uv nor pip; install one of them for Danlu's Python",
        "requirements：节点 {node} 没有 uv 和 pip；请在 Danlu 旁安装其中之一",
    ),
    # images
    "image_not_fetched": ("{image} cannot be fetched: {inner}", "无法获取镜像 {image}：{inner}"),
    "image_lost": ("{image} was fetched, but is missing", "已获取镜像 {image}，但找不到它"),
    "image_not_unpacked": ("{image} cannot be unpacked: {inner}", "无法解包镜像 {image}：{inner}"),
    "image_unusable": (
        "the image {image} cannot be used on {node}: {problem}",
        "镜像 {image} 不能在节点 {node} 上使用：{problem}",
    ),
    "no_room_for_layers": ("there is no room for its layers", "没有空间存放镜像层"),
    "not_for_machine": ("it is not available for {machine}", "没有适用于 {machine} 的版本"),
    "wants_zstd": (
        "its layers are compressed by Zstandard; install zstd, podman or docker on the node",
        "镜像层以 Zstandard 压缩；请在节点上安装 zstd、podman 或 docker",
    ),
    "bad_manifest": (
        "invalid manifest: expected at most {number} objects",
        "镜像清单无效：应至多 {number} 个对象",
    ),
    "bad_layer_size": ("a layer has {bytes} bytes and not {size}", "镜像层为 {bytes} 字节，而不是 {size}"),
    "bad_layer_digest": ("{place}: what arrived has another digest", "{place}：收到内容的摘要不符"),
    "wants_digest_256": ("expected a SHA-256 digest, got {given}", "应为 SHA-256 摘要，实际为 {given}"),
    "wants_sign_in": (
        "{place}: expected an authentication, got {given}",
        "{place}：应为认证方式，实际为 {given}",
    ),
    "wants_json_at": ("{place}: expected JSON", "{place}：应为 JSON"),
    "wants_json_object": ("{place}: expected a JSON object", "{place}：应为 JSON 对象"),
    "wants_token": ("{place}: expected a token", "{place}：应为令牌"),
    "export_cut": ("the export was cut short", "导出中断"),
    "files_stalled": ("no more of its files arrived within {seconds} s", "{seconds} 秒内没有收到更多文件"),
    "unpacker_ended": ("the process that unpacks it ended", "解包进程已结束"),
    "tool_silent": (
        "{tool} did not answer within {seconds} s: {command}",
        "{tool} 在 {seconds} 秒内没有响应：{command}",
    ),
    "tool_failed": ("image {command} of {image}: {problem}", "对镜像 {image} 执行 {command}：{problem}"),
    # starting
    "started_by_other": (
        "{job} is being started by another process; try again",
        "{job} 正由另一个进程启动；请重试",
    ),
    "not_started": ("{job} could not be started: {inner}", "无法启动 {job}：{inner}"),
    "tasks_not_started": ("tasks could not be started: {inner}", "无法启动实例：{inner}"),
    "no_room_to_start": ("no room to start {job} in {folder}: {problem}", "{folder} 没有空间启动 {job}：{problem}"),
    "tasks_too_slow": ("tasks did not start within {seconds} s", "实例未能在 {seconds} 秒内启动"),
    "starter_ended": (
        "the process that starts tasks ended before they had started",
        "启动实例的进程在实例启动前已结束",
    ),
    "machine_untried": ("cannot try out this machine: {problem}", "无法检测此机器：{problem}"),
    "machine_silent": (
        "cannot try out this machine: no answer within {seconds} s",
        "无法检测此机器：{seconds} 秒内没有响应",
    ),
    "folder_elsewhere": (
        "the plan puts the task's folder at {path}, and without a sandbox it can only be {own}",
        "启动方案把实例的文件夹放在 {path}，没有沙箱时只能是 {own}",
    ),
    "contract_needs_sandbox": (
        "the job's contract needs paths of its own, and this node has no sandbox to provide them",
        "任务的平台约定需要专用路径，而此节点没有沙箱可以提供",
    ),
    "bad_folder_name": ("{name} cannot be the name of a folder", "{name} 不能作为文件夹名称"),
    "outside_folders": (
        "{path} lies outside of the task's folders {folders}",
        "{path} 在实例的文件夹 {folders} 之外",
    ),
    "wants_absolute": ("{path} is not an absolute path in its normal form", "{path} 不是规范的绝对路径"),
    "in_system_folder": (
        "{path} lies in a folder of the system; expected another path",
        "{path} 位于系统文件夹中；请使用其他路径",
    ),
    "in_writable_folder": (
        "{path} lies in {folder}, which the job can write to; expected another path",
        "{path} 位于任务可写的 {folder} 中；请使用其他路径",
    ),
    "over_danlu": (
        "{path} cannot be given to a job on this node: Danlu's Python, or a folder that all jobs see, is at {folder}; "
        "expected another path, or Danlu installed somewhere else",
        "{path} 在此节点上不能提供给任务：Danlu 的 Python 或所有任务可见的文件夹位于 {folder}；"
        "请使用其他路径，或将 Danlu 安装到别处",
    ),
    "no_own_network": (
        "tasks on this node share the network of the machine, so their ports cannot be distinguished",
        "此节点的实例没有独立网络，其端口与机器的端口无法区分",
    ),
    "devices_differ": (
        "task {rank} was given {count} devices, and the job asks for {number}",
        "实例 {rank} 分到 {count} 个设备，而任务请求 {number} 个",
    ),
    "npu_addresses": (
        "the addresses of the NPUs of {node} are not known, and a rank table of several nodes needs them; ask for one "
        "node, or try it with simulated devices (`danlu up --simulate npu:910b:16`)",
        "节点 {node} 的 NPU 地址未知，而多节点的 rank table 需要这些地址；请只请求一个节点，"
        "或使用模拟设备试运行（`danlu up --simulate npu:910b:16`）",
    ),
    # shells and ports
    "no_shell_now": (
        "the task is not running; a shell can be opened while it is",
        "实例未在运行；运行期间可以打开终端",
    ),
    "no_ports_now": (
        "the task is not running; its ports can be reached while it is",
        "实例未在运行；运行期间可以访问其端口",
    ),
    "no_ports_now_for": (
        "the task is not running; its ports can be reached while it is ({problem})",
        "实例未在运行；运行期间可以访问其端口（{problem}）",
    ),
    "port_closed": ("nothing listens on port {port} in the task", "实例中没有程序监听端口 {port}"),
    "task_port_silent": ("port {port} of the task does not answer: {problem}", "实例的端口 {port} 没有响应：{problem}"),
    "shell_closed": ("the shell has been closed", "终端已关闭"),
    "still_runs": (
        "attempt {attempt} of {job} still runs; stop it first",
        "{job} 的第 {attempt} 次运行仍在进行；请先停止",
    ),
    "engine_package": (
        "engine {engine} needs the package {package}; install it first",
        "引擎 {engine} 需要包 {package}；请先安装",
    ),
    "log_not_copied": ("the log of {job} cannot be copied: {problem}", "无法复制 {job} 的日志：{problem}"),
    # what arrived of a transfer
    "no_json_answer": (
        "{path} answered with something that is no JSON: {problem}",
        "{path} 的响应不是 JSON：{problem}",
    ),
    "no_batch_answer": (
        "{path} answered with something that is not a batch: {problem}",
        "{path} 的响应不是一批文件：{problem}",
    ),
    "no_pack_answer": (
        "the server answered with something that is no pack: {problem}",
        "服务器的响应不是数据包：{problem}",
    ),
    "nothing_asked_for": ("the server's answer contains nothing that was requested", "服务器的响应中没有所请求的内容"),
    "no_file_of_folder": (
        "the server asks for {path}, which is no file of this folder",
        "服务器请求 {path}，但它不是此文件夹中的文件",
    ),
    "other_bytes": (
        "{path} arrived with another digest; try again",
        "收到的 {path} 内容不符；请重试",
    ),
    "other_bytes_sent": (
        "{path}: the bytes that arrived differ from those sent; try again",
        "{path}：收到的内容与发送的不符；请重试",
    ),
    "other_manifest": (
        "the manifest of {version} arrived with another digest; try again",
        "收到的 {version} 清单内容不符；请重试",
    ),
    "changed_while_sent": (
        "{path}: its chunks match their digests but the file does not; it changed while it was sent",
        "{path}：分块的摘要正确，但文件的摘要不符；文件在发送时发生了变化",
    ),
    "changed_since": (
        "{path} has {bytes} bytes; {size} were added: make the artifact again",
        "{path} 有 {bytes} 字节，而添加时为 {size}：请重新创建制品",
    ),
    "other_digest": (
        "the bytes that arrived have the SHA-256 {digest}, not {given}; try again",
        "收到内容的 SHA-256 为 {digest}，而不是 {given}；请重试",
    ),
    "answer_too_long": (
        "an answer of {bytes} bytes; expected at most {number}",
        "响应为 {bytes} 字节；应至多 {number}",
    ),
    "answer_longer": ("an answer of more than {bytes} bytes", "响应超过 {bytes} 字节"),
    "no_size_told": (
        "an answer that does not tell the size of the object; expected a number, got {given}",
        "响应没有说明对象的大小；应为数字，实际为 {given}",
    ),
}
