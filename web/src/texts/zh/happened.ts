import type { happened as en } from "../en/happened";
import type { Same } from "../shape";

export const happened: Same<typeof en> = {
  submitted: "已提交",
  queued: "排队",
  making_room: "腾出资源",
  starting: "启动中",
  running: "运行中",
  unreachable: "节点离线",
  preempted: "被抢占",
  stop: "请求停止",
  pause: "请求暂停",
  resume: "请求继续",
  stopping: "停止中",
  succeeded: "成功",
  failed: "失败",
  stopped: "已停止",
  lost: "丢失",
  retry: "重试",
  output_incomplete: "结果不完整",
  logs_removed: "日志已删除",
};
