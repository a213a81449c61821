"""What is told of a plan: how it is started, what its files and folders are for, in English and Chinese.

What its variables hold: `variable_texts.py`.
"""

from __future__ import annotations

EXPLAIN_TEXTS: dict[str, tuple[str, str]] = {
    # how it is started
    "starts_plain": (
        "The command runs once on every node. The tasks get to know each other's names, and nothing is set up for "
        "them.",
        "命令在每个节点上运行一次。各实例可以获知彼此的名称，不作其他设置。",
    ),
    "starts_ddp": (
        "The command runs once on every node and starts its own processes, with torchrun or by itself. Node 0 is where "
        "they meet.",
        "命令在每个节点上运行一次，由它通过 torchrun 或自行启动进程。各进程在节点 0 上会合。",
    ),
    "starts_ascend": (
        "Every task finds the same rank table. The command runs once on every node and starts a process for each NPU "
        "itself; with `processes: per_device` it is started once for each NPU, with the variables of that one process.",
        "所有实例使用相同的 rank table。命令在每个节点上运行一次，并自行为每个 NPU 启动一个进程；"
        "设置 `processes: per_device` 时，为每个 NPU 启动一次命令，并设置该进程的变量。",
    ),
    "starts_ps_worker": (
        "The command of each role runs once on each of its nodes. Every task finds in TF_CONFIG who the parameter "
        "servers and workers are, and which of them it is itself.",
        "各角色的命令在该角色的每个节点上运行一次。"
        "每个实例可从 TF_CONFIG 得知参数服务器和 worker 有哪些，自己是其中哪一个。",
    ),
    "starts_mpi": (
        "The command runs once, on the launcher. Its mpirun starts the ranks in all tasks through an agent of Danlu's "
        "own, which takes the place of sshd; the other tasks wait for it until the launcher ends.",
        "命令只在 launcher 上运行一次。它的 mpirun 通过 Danlu 的代理（代替 sshd）在所有实例中启动各 Rank；"
        "其他实例等待，直到 launcher 结束。",
    ),
    "starts_ray": (
        "The command runs once, on the head of a Ray cluster that has all tasks of the job as its nodes, and begins "
        "when they have joined. The cluster ends with the command.",
        "任务的所有实例组成一个 Ray 集群，命令只在其头节点上运行一次，在所有实例加入后开始。集群随命令一起结束。",
    ),
    "starts_tione": (
        "As on TI-ONE: scripts whose parser has --local_rank take it as torch.distributed.launch of today writes it, "
        "--local-rank.",
        "与 TI-ONE 一致：定义了 --local_rank 参数的脚本，也接受新版 torch.distributed.launch 的写法 --local-rank。",
    ),
    "starts_apulis": (
        "As on Apulis: /pod.env holds the variables, /home/<user> and /data outlive the job, the log is also in the "
        "home folder, and `sudo -E` works.",
        "与 Apulis 一致：变量在 /pod.env 中，/home/<user> 和 /data 在任务结束后保留，"
        "日志也写入主目录，可以使用 `sudo -E`。",
    ),
    "starts_modelarts": (
        "As on ModelArts: `ma-pre-start.sh` beside the boot file is read first, the boot file gets every "
        "hyperparameter as --name=value, and with `launch: ascend` it is started once for each card; the first that "
        "fails ends its node.",
        "与 ModelArts 一致：先执行启动文件旁的 `ma-pre-start.sh`，所有超参数以 --name=value 传给启动文件；"
        "使用 `launch: ascend` 时为每个设备启动一次，任一进程失败会终止所在节点的实例。",
    ),
    # files
    "file_hyperparameters": (
        "the job's hyperparameters, as they are in the job file",
        "任务的超参数，与任务文件中一致",
    ),
    "file_setup": (
        "the job's setup; it is read by the shell that starts the command, so that what it exports stays",
        "任务的准备步骤；由启动命令的 shell 读取，因此其中 export 的变量有效",
    ),
    "file_rank_table": (
        "the rank table, version 1.0, or 1.2 on super pods: the same bytes in every task of an attempt",
        "rank table，版本 1.0，超节点上为 1.2；同一次运行的所有实例中内容相同",
    ),
    "file_per_device": (
        "starts the command once for each NPU and ends all when one fails",
        "为每个 NPU 启动一次命令，任一失败时终止全部",
    ),
    "file_processes": ("the variables and the log file of each of these processes", "这些进程各自的变量和日志文件"),
    "file_hostfile": ("every task with its slots, as mpirun reads it", "所有实例及其 slot 数，格式供 mpirun 读取"),
    "file_rsh_json": (
        "where the agents of the tasks listen; who may call them is decided by the attempt's token",
        "各实例的代理所监听的地址；凭本次运行的令牌调用",
    ),
    "file_rsh": (
        "Danlu's agent and its client, which mpirun calls in place of ssh",
        "Danlu 的代理及其客户端，mpirun 用它代替 ssh",
    ),
    "file_pdsh": (
        "runs a command in several tasks at once through that agent, for launchers that call pdsh",
        "通过该代理在多个实例中同时执行命令，供调用 pdsh 的启动器使用",
    ),
    "file_fabric": (
        "what `colossalai run` calls of Fabric, through that agent",
        "`colossalai run` 所调用的 Fabric 接口，通过该代理实现",
    ),
    "file_rsh_agent": ("the part of it that takes commands", "其中接收命令的部分"),
    "file_rsh_wire": (
        "the part of it that carries input, output and signals",
        "其中传递输入、输出和信号的部分",
    ),
    "file_ray_json": ("how this task becomes a node of the Ray cluster", "此实例如何成为 Ray 集群的节点"),
    "file_ray_cluster": ("starts the nodes, and the command on the head", "启动各节点，并在头节点上启动命令"),
    "file_sitecustomize": (
        "read by every Python of the job: parsers that know --local_rank also take --local-rank",
        "任务中的每个 Python 都会读取：定义了 --local_rank 的参数解析器也接受 --local-rank",
    ),
    "file_sudo": (
        "stands in for sudo: runs the command as it is, because a job cannot switch to another user",
        "代替 sudo：原样执行命令，因为任务不能切换用户",
    ),
    "file_pod_env": (
        "all variables of the task for a shell to read: `source /pod.env`; secrets are not in it",
        "此实例的所有变量，供 shell 读取：`source /pod.env`；其中不含机密变量",
    ),
    "file_hccl_ms": (
        "the rank table of MindSpore 0.x; copied to ~/.npu/<job>/ before the command starts",
        "MindSpore 0.x 的 rank table；命令启动前复制到 ~/.npu/<job>/",
    ),
    "file_hccl_tf": (
        "the rank table of TensorFlow 1.15; copied to ~/.npu/<job>/ before the command starts",
        "TensorFlow 1.15 的 rank table；命令启动前复制到 ~/.npu/<job>/",
    ),
    # folders
    "folder_code": ("the code; the command is started here", "代码；命令在此启动"),
    "folder_data": ("the inputs", "输入"),
    "folder_sent_while_running": (
        "uploaded to {place} while the command runs and at its end",
        "命令运行期间和结束时上传到 {place}",
    ),
    "folder_sent_at_end": ("uploaded to {place} at the command's end", "命令结束时上传到 {place}"),
    "folder_of_user": ("of the person {name}; it outlives the job", "用户 {name} 的文件夹；任务结束后保留"),
    "folder_of_project": ("of the project {name}; it outlives the job", "项目 {name} 的文件夹；任务结束后保留"),
    # good to know
    "engine_adds": (
        "PATH, VIRTUAL_ENV, HOME, USER, SHELL, LANG, TERM, TMPDIR and PYTHONUNBUFFERED are set where the task runs, "
        "when the plan has no others.",
        "PATH、VIRTUAL_ENV、HOME、USER、SHELL、LANG、TERM、TMPDIR 和 PYTHONUNBUFFERED "
        "如未在启动预览中列出，则在实例运行处设置。",
    ),
    "plan_debug": (
        "Debug: everything is made ready and the command is not started; `danlu shell` opens a shell there.",
        "调试：一切准备就绪，但不启动命令；可用 `danlu shell` 打开终端。",
    ),
    "plan_image": (
        "The command sees the files of {image} instead of the machine's, read-only but for its own folders and /tmp; "
        "variables that the image sets are below those listed here.",
        "命令看到的是镜像 {image} 的文件，而不是机器的文件；除自己的文件夹和 /tmp 外均为只读。"
        "镜像设置的变量优先级低于此处列出的变量。",
    ),
    "plan_packages": (
        "Packages ({packages}) are installed first, or are there from an earlier job that asked for the same.",
        "先安装包（{packages}）；如果之前的任务要求过相同的包，则直接使用。",
    ),
    "plan_per_device": (
        "The variables above are those of a task. Each of its processes has its own RANK_ID, DEVICE_ID, DEVICE_INDEX "
        "and ASCEND_DEVICE_ID, and RANK, WORLD_SIZE, LOCAL_RANK and LOCAL_WORLD_SIZE for PyTorch: processes.json lists "
        "them, and where the log of each process goes.",
        "以上是实例的变量。它的每个进程有各自的 RANK_ID、DEVICE_ID、DEVICE_INDEX 和 ASCEND_DEVICE_ID，"
        "以及供 PyTorch 使用的 RANK、WORLD_SIZE、LOCAL_RANK 和 LOCAL_WORLD_SIZE；"
        "processes.json 列出了这些变量和各进程的日志位置。",
    ),
    "plan_setup": (
        "Setup runs first, in the shell that then starts the command: what it exports reaches the command.",
        "先运行准备步骤，再由同一个 shell 启动命令：其中 export 的变量对命令有效。",
    ),
    "plan_max_duration": (
        "An attempt that runs for more than {seconds} s is ended, and the job fails.",
        "单次运行超过 {seconds} 秒会被终止，任务失败。",
    ),
    "plan_idle_limit": (
        "It ends after {seconds} s without use; its owner gets an alert before that.",
        "{seconds} 秒无人使用后结束；结束前会向所有者发出告警。",
    ),
    "plan_stopped": (
        "When it is stopped, all its processes get SIGTERM, and SIGKILL {seconds} s later.",
        "停止时，所有进程先收到终止信号（SIGTERM），{seconds} 秒后收到 SIGKILL。",
    ),
    "plan_stopped_mpi": (
        "When it is stopped, all its processes, but for mpirun and its daemons, get SIGTERM, and SIGKILL {seconds} s "
        "later.",
        "停止时，除 mpirun 及其守护进程外，所有进程先收到终止信号（SIGTERM），{seconds} 秒后收到 SIGKILL。",
    ),
    "plan_stopped_ray": (
        "When it is stopped, all its processes, but for Ray's daemons, get SIGTERM, and SIGKILL {seconds} s later.",
        "停止时，除 Ray 的守护进程外，所有进程先收到终止信号（SIGTERM），{seconds} 秒后收到 SIGKILL。",
    ),
    # who reads a variable, and what sets it
    "reader_own": ("your code", "您的代码"),
    "reader_own_sdk": ("your code, Danlu's SDK", "您的代码、Danlu 的 SDK"),
    "reader_sdk": ("Danlu's SDK", "Danlu 的 SDK"),
    "reader_everybody": ("every program", "所有程序"),
    "reader_tione": ("scripts written for TI-ONE", "为 TI-ONE 编写的脚本"),
    "reader_tikit": ("scripts written for TI-ONE, tikit", "为 TI-ONE 编写的脚本、tikit"),
    "reader_apulis": ("scripts written for Apulis", "为 Apulis 编写的脚本"),
    "reader_modelarts": ("code written for ModelArts", "为 ModelArts 编写的代码"),
    "reader_old_modelarts": ("code written for the first ModelArts", "为旧版 ModelArts 编写的代码"),
    "reader_cann_modelarts": ("CANN, ModelArts scripts", "CANN、ModelArts 脚本"),
    "reader_torch": ("torch.distributed, torchrun scripts", "torch.distributed、torchrun 脚本"),
    "reader_torch_job": ("PyTorchJob scripts", "PyTorchJob 脚本"),
    "reader_mindspore": ("MindSpore's scripts", "MindSpore 脚本"),
    "reader_ascend_runtime": ("Ascend's container runtime, MindSpore", "昇腾容器运行时、MindSpore"),
    "reader_compiler": ("CANN's compiler", "CANN 编译器"),
    "reader_gloo": ("PyTorch's gloo", "PyTorch 的 gloo"),
    "set_by_every_job": ("every job", "所有任务"),
    "set_by_own": ("env of the job file", "任务文件的 env"),
}
