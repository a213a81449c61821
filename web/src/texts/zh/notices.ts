import type { Same } from "../shape";
import type { notices as en } from "../en/notices";

export const notices: Same<typeof en> = {
  title: "通知",
  none: "暂无通知。",
  unread: (count) => `${String(count)} 条未读`,
  byBrowser: "使用浏览器通知",
  notAllowed: "浏览器不允许此网站发送通知。",
  platform: "平台",
  alerts: {
    device_idle: (of) =>
      `Rank ${of.rank ?? ""} 的 ${of.num_devices ?? ""} 个设备已空闲 ${of.idle_seconds ?? ""}。`,
    memory_high: (of) =>
      `Rank ${of.rank ?? ""} 已使用内存 ${of.used_bytes ?? ""}，上限为 ${of.limit_bytes ?? ""}。`,
    silent: (of) =>
      `已有 ${of.silent_seconds ?? ""} 没有日志和指标，最先停止输出的是 Rank ${of.rank ?? ""}。`,
    ends_idle: (of) =>
      `已有 ${of.idle_seconds ?? ""} 无人使用，如仍无人使用，将在 ${of.left_seconds ?? ""} 后结束。`,
    loss_not_finite: (of) =>
      `${of.metric ?? ""} 在第 ${of.step ?? ""} 步的值为 ${of.value ?? ""}。`,
    disk_full_soon: (of) =>
      `${of.folder ?? ""} 所在磁盘共 ${of.total_bytes ?? ""}，仅剩 ${of.free_bytes ?? ""}。`,
  },
  remedies: {
    device_idle: "如果任务卡住或不再需要，请停止任务。",
    memory_high: "请减小批次大小或数据加载进程数，或申请更多内存。",
    silent: "打开该 Rank 的终端，查看它在等待什么。",
    ends_idle: "如果仍需要，请打开它的 Notebook 或终端。",
    loss_not_finite: "停止任务，降低学习率后从较早的检查点继续训练。",
    disk_full_soon: "删除旧的任务、运行和文件，或增加磁盘空间。",
  },
  kinds: {
    "job.succeeded": "任务成功",
    "job.failed": "任务失败",
    "job.stopped": "任务已停止",
    "alert.opened": "出现告警",
    "alert.closed": "告警解除",
    "run.alert": "脚本告警",
    test: "测试",
  },
  email: "邮件",
  emailText: (address) => `将您的任务的以下事件发送到 ${address}：`,
  noAddress: "您的账号没有邮箱地址。",
  noMail: "此服务器不发送邮件。",
  saved: "已保存",
  webhooks: "网络回调",
  webhooksText: "接收您的任务事件的地址，每次推送都有签名。",
  noWebhooks: "您还没有添加网络回调。",
  addWebhook: "添加网络回调",
  url: "地址",
  urlHint: "以 https:// 开头，服务器可以访问。",
  events: "事件",
  secretTitle: "此网络回调的密钥",
  secretText: "每次推送都用它签名。仅显示这一次。",
  deliveries: "推送记录",
  noDeliveries: "尚未推送。",
  tryOut: "发送测试事件",
  removeTitle: "移除此网络回调？",
  removeText: (url) => `不再向 ${url} 推送。`,
  removed: "网络回调已移除",
  state: "状态",
  tries: "推送次数",
  answer: "响应",
  states: { waiting: "等待中", delivered: "已送达", failed: "失败" },
};
