import type { Same } from "../shape";
import type { terminal as en } from "../en/terminal";

export const terminal: Same<typeof en> = {
  title: "终端",
  input: "终端输入",
  open: "打开终端",
  again: "新建终端",
  about: "在运行中的实例内打开 Shell。按 Shift+Tab 离开，关闭本页即结束。",
  notRunningTitle: "未在运行",
  notRunning: "任务运行期间可以打开终端。",
  ended: (code) => `Shell 已退出，退出码 ${String(code)}。`,
};
