import type { Same } from "../shape";
import type { states as en } from "../en/states";

export const states: Same<typeof en> = {
  queued: "排队中",
  starting: "启动中",
  running: "运行中",
  stopping: "停止中",
  paused: "已暂停",
  succeeded: "成功",
  failed: "失败",
  stopped: "已停止",
  lost: "失联",
  staging: "下载输入中",
  uploading: "上传结果中",
};
