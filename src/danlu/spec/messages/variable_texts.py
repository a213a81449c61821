"""What the variables of a plan hold, as the tables of `launch/` tell it, in English and Chinese."""

from __future__ import annotations

VARIABLE_TEXTS: dict[str, tuple[str, str]] = {
    "var_own": ("set in the job file", "任务文件中写明的值"),
    # the job
    "var_job_id": ("the id of the job", "任务的编号"),
    "var_job_name": ("the job's name", "任务的名称"),
    "var_job_command": ("the job's command", "任务的命令"),
    "var_job_inputs": ("the job's inputs, as JSON", "任务的输入（JSON）"),
    "var_job_output": ("the job's output, as JSON", "任务的输出（JSON）"),
    "var_job_owner": ("the name of the job's owner", "任务所有者的名称"),
    "var_job_project": ("the project that the job belongs to", "任务所属的项目"),
    "var_job_framework": ("the framework that the job names", "任务所用的框架"),
    "var_attempt_id": ("the id of this attempt", "本次运行的编号"),
    "var_attempt": (
        "the number of this attempt, from 1; later ones come after a failure or a pause",
        "第几次运行，从 1 开始；失败或暂停后会有下一次",
    ),
    "var_num_nodes": ("how many nodes the job has", "任务的节点数"),
    "var_num_nodes_ddp": (
        "how many nodes there are; torchrun replaces it by the number of processes",
        "节点数；torchrun 会将其替换为进程数",
    ),
    "var_num_tasks": ("how many tasks the job has", "任务的实例数"),
    "var_num_servers": ("how many tasks are parameter servers", "作为参数服务器的实例数"),
    "var_num_workers": ("how many tasks are workers", "作为 worker 的实例数"),
    "var_num_workers_several": (
        "how many tasks are workers, in jobs with several",
        "作为 worker 的实例数（仅用于多实例任务）",
    ),
    # which of them this is
    "var_node_index": ("which node of the job this is, from 0", "任务中的第几个节点，从 0 开始"),
    "var_node": ("which node this is, from 0", "第几个节点，从 0 开始"),
    "var_node_ddp": (
        "which node this is; torchrun replaces it by the number of the process",
        "第几个节点；torchrun 会将其替换为进程的序号",
    ),
    "var_task_of_job": ("which task of the job this is, from 0", "任务中的第几个实例，从 0 开始"),
    "var_task": ("which task this is, from 0", "第几个实例，从 0 开始"),
    "var_task_of_that_role": ("which task of that role, from 0", "该角色的第几个实例，从 0 开始"),
    "var_task_of_its_role": ("which task of its role this is, from 0", "所属角色的第几个实例，从 0 开始"),
    "var_role": (
        "which role of the job this is: worker, unless it has roles",
        "任务中的角色；没有设置角色时为 worker",
    ),
    "var_role_of_task": ("the role of this task", "此实例的角色"),
    "var_role_or_master": (
        "master when the job has one task, else the task's role",
        "任务只有一个实例时为 master，否则为实例的角色",
    ),
    "var_task_name": ("the name of this task", "此实例的名称"),
    "var_task_name_tf": (
        "this task's name in the rank table of TensorFlow 1.15",
        "此实例在 TensorFlow 1.15 的 rank table 中的名称",
    ),
    "var_machine": ("the machine that the task is on", "实例所在的机器"),
    # addresses
    "var_node_0": ("the address of node 0", "节点 0 的地址"),
    "var_node_0_meets": (
        "the address of node 0, where the processes meet",
        "节点 0 的地址，各进程在此会合",
    ),
    "var_rank_0": ("where rank 0 is", "Rank 0 的地址"),
    "var_port": ("a port there that is free", "该处的一个空闲端口"),
    "var_port_attempt": ("a port there that is free for this attempt", "该处为本次运行保留的空闲端口"),
    "var_own_address": ("the address of this task", "此实例的地址"),
    "var_own_address_only": (
        "the address of this task: it does not know the machine that it is on",
        "此实例的地址；实例不知道自己所在的机器",
    ),
    "var_address_of": ("the address of that task", "该实例的地址"),
    "var_address_of_only": (
        "the address of that task: tasks do not know the machines that they are on",
        "该实例的地址；实例不知道自己所在的机器",
    ),
    "var_hosts_devices": (
        "the host name of every node, each with its number of devices",
        "各节点的主机名及其设备数",
    ),
    "var_hosts": (
        "the host names of all tasks; the first is the master",
        "所有实例的主机名；第一个是 master",
    ),
    "var_cluster": (
        "the addresses of all tasks by role, and this task's own role and index, as JSON",
        "各角色全部实例的地址，以及此实例的角色和序号（JSON）",
    ),
    "var_ray_head": ("where the head is: ray.init() connects there", "头节点的地址：ray.init() 连接到此处"),
    "var_interface": ("the network interface that the tasks' addresses are on", "各实例地址所在的网络接口"),
    "var_interface_ranks": ("the network interface that ranks talk over", "各 Rank 通信所用的网络接口"),
    # devices
    "var_devices_node": ("devices of the job on each node", "任务在每个节点上的设备数"),
    "var_devices_all": ("devices of the job on all nodes", "任务在全部节点上的设备数"),
    "var_devices_each": ("devices of each task", "每个实例的设备数"),
    "var_devices_every": ("how many devices every task has", "每个实例拥有的设备数"),
    "var_device_ids": ("the physical ids of the task's devices", "实例所用设备的物理编号"),
    "var_device_kind": ("the kind of device, as the job file has it", "设备类型，与任务文件中的写法一致"),
    "var_device_type": ("cpu, gpu or npu", "cpu、gpu 或 npu"),
    "var_gpus": ("the job's GPUs; programs count them from 0", "任务的 GPU；程序中从 0 开始编号"),
    "var_npus": ("the physical ids of the job's NPUs", "任务所用 NPU 的物理编号"),
    "var_npus_from_0": (
        "the physical ids of the job's NPUs; programs count them from 0",
        "任务所用 NPU 的物理编号；程序中从 0 开始编号",
    ),
    "var_npus_all": ("all NPUs of the job", "任务的 NPU 总数"),
    "var_npus_here": ("NPUs of the job on this node", "任务在此节点上的 NPU 数"),
    "var_npu": (
        "the NPU of this process, from 0 among those of the job here",
        "此进程的 NPU，在此节点属于该任务的 NPU 中从 0 开始编号",
    ),
    "var_npu_addresses": ("the NPUs of this task with their own addresses", "此实例的 NPU 及其地址"),
    "var_npu_addresses_of": ("the NPUs of that task with their own addresses", "该实例的 NPU 及其地址"),
    "var_is_npu": ("whether the devices are NPUs: true or false", "设备是否为 NPU：true 或 false"),
    "var_chip": ("the chip, from the model of the NPU", "芯片型号，由 NPU 型号得出"),
    "var_simulated": (
        "1: the NPUs are simulated, there is no such hardware",
        "1：NPU 是模拟的，没有实际硬件",
    ),
    # Ascend
    "var_rank_table": (
        "the rank table: which process has which NPU of which server",
        "rank table：各进程使用哪台服务器的哪个 NPU",
    ),
    "var_process": (
        "this process among all of the job; once per node: the node's first one",
        "此进程在任务全部进程中的序号；每节点启动一次时，为该节点第一个进程的序号",
    ),
    "var_hccl_wait": ("seconds that HCCL waits for the other processes", "HCCL 等待其他进程的秒数"),
    # MPI
    "var_slots_tasks": ("how many tasks have slots", "有进程槽位的实例数"),
    "var_slots_first": ("slots of the first of them", "其中第一个实例的进程槽位数"),
    "var_slots_all": (
        "slots of all tasks: what to give mpirun as -np",
        "全部实例的进程槽位数，用作 mpirun 的 -np",
    ),
    "var_slots_hosts": (
        "the host name of every task with slots, and how many",
        "有进程槽位的各实例的主机名和槽位数",
    ),
    "var_slots_addresses": (
        "the same with addresses: what to give mpirun as -H",
        "同上，但使用地址，用作 mpirun 的 -H",
    ),
    "var_hostfile": ("the file that names all tasks with their slots", "列出全部实例及其进程槽位的文件"),
    "var_hostfile_default": ("the hostfile, for an mpirun without -H", "mpirun 未指定 -H 时使用的 hostfile"),
    "var_as_root": (
        "allows mpirun to run as root, which has no rights outside the job",
        "允许 mpirun 以 root 运行；任务中的 root 在任务之外没有权限",
    ),
    "var_as_root_too": ("the second half of that", "与上一项配合使用"),
    "var_unbound": (
        "ranks are not bound to cores, which jobs share",
        "各 Rank 不绑定 CPU 核，因为多个任务共用这些核",
    ),
    "var_reach": ("how mpirun reaches the other tasks", "mpirun 连接其他实例的方式"),
    "var_yield": ("a rank that waits lets others work", "等待中的 Rank 让出 CPU"),
    "var_pml": ("the way of sending that Horovod's guide asks for", "Horovod 指南要求的发送方式"),
    "var_btl": ("what ranks may talk over", "各 Rank 可用的通信方式"),
    "var_ray_quiet": ("Ray reports nothing to its makers", "Ray 不向其开发者上报使用情况"),
    # folders and files
    "var_root": (
        "the folder that holds input/, code/, output/ and model/",
        "包含 input/、code/、output/ 和 model/ 的文件夹",
    ),
    "var_data": ("where the inputs of `data` are", "`data` 中各项输入所在的文件夹"),
    "var_config": ("where Danlu's own files are", "Danlu 自身文件所在的文件夹"),
    "var_code": ("the code folder, in which the command is started", "代码目录，命令在此启动"),
    "var_code_above": ("the folder that the code folder, `code`, lies in", "代码目录 `code` 所在的文件夹"),
    "var_above_that": ("the folder above MA_JOB_DIR", "MA_JOB_DIR 的上级文件夹"),
    "var_output": (
        "what is written here is uploaded while the command runs",
        "写入此处的内容在命令运行期间上传",
    ),
    "var_model": (
        "what is written here is uploaded after the command's end",
        "写入此处的内容在命令结束后上传",
    ),
    "var_checkpoint": (
        "what is saved here is here again in the job's next attempt",
        "保存在此处的内容在任务的下一次运行中仍在此处",
    ),
    "var_runs": (
        "journals of runs: brought to the server while the command runs",
        "运行的日志簿：在命令运行期间送到服务器",
    ),
    "var_process_logs": ("where the logs of single processes are", "各进程日志所在的文件夹"),
    "var_hyperparameters": (
        "the file with the job's hyperparameters, as JSON",
        "保存任务超参数的文件（JSON）",
    ),
    "var_stop_file": (
        "a file that appears when the task should end; danlu.preempted() checks for it",
        "实例被要求结束时出现的文件；danlu.preempted() 会检查它",
    ),
    "var_token": ("the attempt's own credentials, valid until its end", "本次运行的令牌文件，运行结束后失效"),
    "var_home": ("the home folder", "主目录"),
    "var_home_owner": ("the owner's home folder; it outlives the job", "所有者的主目录；任务结束后仍保留"),
    "var_home_ma": ("ma-user's home folder, the task's own", "ma-user 的主目录，仅属于此实例"),
    "var_user_ma": ("ma-user", "用户 ma-user"),
}
