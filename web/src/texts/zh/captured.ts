import type { Same } from "../shape";
import type { captured as en } from "../en/captured";

export const captured: Same<typeof en> = {
  command: "命令",
  cwd: "工作目录",
  host: "主机",
  boot_id: "启动编号",
  pid_space: "PID 命名空间",
  pid: "进程号",
  pid_started: "进程启动时刻",
  user: "用户",
  os: "操作系统",
  cpus: "CPU 核数",
  python: "Python",
  executable: "Python 程序",
  num_packages: "包数量",
  "git.commit": "Git 提交",
  "git.branch": "Git 分支",
  "git.remote": "Git 远程仓库",
  "git.root": "Git 目录",
  "git.is_dirty": "有未提交的修改",
  "git.is_diff_cut": "修改内容已截断",
  "git.diff": "修改内容",
};
