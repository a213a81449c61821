import type { Same } from "../shape";
import type { resources as en } from "../en/resources";

export const resources: Same<typeof en> = {
  title: "资源用量",
  quantities: {
    cpu: "CPU",
    memory: "内存",
    device: "设备利用率",
    device_memory: "设备内存",
    read: "存储读取",
    written: "存储写入",
    received: "网络流入",
    sent: "网络流出",
  },
  units: { cores: "核", GiB: "GiB", "MB/s": "MB/s", "%": "百分比" },
  told: (average, highest) => `平均 ${average}，最高 ${highest}`,
  mean: "所有进程的平均值",
  highest: "最高的进程",
  lowest: "最低的进程",
  reserved: "每个进程的预留量",
  many: (count) => `共 ${String(count)} 个进程：显示平均值以及每一时刻的最高值和最低值。`,
  network: "任务在同一节点上的所有进程共用此网络。",
  idle: (names) => `几乎为零：${names.join("、")}。`,
  nothing: "还没有测量数据",
  notStarted: "任务尚未启动。",
  soon: "几秒后即可看到首批数据。",
  tooShort: "任务结束得太快，或数据已随日志一起删除。",
};
