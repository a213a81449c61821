import type { Same } from "../shape";
import type { overview as en } from "../en/overview";

export const overview: Same<typeof en> = {
  title: "概览",
  mine: "我的进行中任务",
  noneTitle: "没有进行中的任务",
  noneText: "可以在这里提交任务，也可以在代码目录中运行命令：",
  failed: "最近失败",
  noFailed: "最近没有失败的任务。",
  devices: "设备",
  used: (used, total) => `共 ${String(total)} 个，使用 ${String(used)} 个`,
  noDevices: "没有节点带有加速设备，任务在 CPU 上运行。",
  nodes: (count, reachable) =>
    count === reachable
      ? `${String(count)} 个节点`
      : `${String(count)} 个节点中 ${String(reachable)} 个在线`,
  cores: "已预留核心",
  memory: "已预留内存",
  quota: (project) => `${project} 的配额`,
  noQuota: "未设置限制。",
  quotaUse: (used, quota) => `${used} / ${quota}`,
  runs: "最近的运行",
  noRuns: "训练脚本通过 danlu.track 记录的内容会显示在这里。",
  run: "运行",
  step: "步数",
  updated: "开始时间",
  allJobs: "全部任务",
  steps: "快速开始",
  stepDone: "已完成",
  stepProject: "加入项目",
  stepProjectNone: (name) => `请项目所有者或管理员添加 ${name}。`,
  stepExample: "运行示例",
  stepExampleLink: "查看示例",
  stepData: "上传数据",
  stepDataLink: "打开存储",
  stepShell: "配置命令行",
  stepShellLink: "在命令行中登录",
  done: "最近结束",
};
