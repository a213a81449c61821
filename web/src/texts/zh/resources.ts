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
  mean: "各实例平均值",
  highest: "各实例最大值",
  lowest: "各实例最小值",
  reserved: "每个实例的预留量",
  many: (count) => `共 ${String(count)} 个实例：显示每一时刻的平均值、最小值和最大值。`,
  network: "任务在同一节点上的所有实例共用此网络。",
  idle: (names) => `几乎为零：${names.join("、")}。`,
  heat: "各 Rank 随时间的使用情况",
  quantity: "指标",
  laziest: (rank, mean) => `平均值最低：Rank ${String(rank)}，${mean}`,
  nothing: "还没有测量数据",
  notStarted: "任务尚未启动。",
  soon: "几秒后即可看到首批数据。",
  tooShort: "任务结束得太快，或数据已随日志一起删除。",
};
