import type { Same } from "../shape";
import type { chart as en } from "../en/chart";

export const chart: Same<typeof en> = {
  lines: (count) => `${String(count)} 条曲线。`,
  more: (count) => `另有 ${String(count)} 条`,
  axis: "横轴",
  step: "步数",
  epoch: "轮次",
  time: "时间",
  smoothing: "平滑",
  log: "对数坐标",
  hidden: "已被取代的运行次数",
  superseded: (branch) => `第 ${String(branch)} 次运行，已被取代`,
  find: "查找指标",
  none: "还没有指标",
  noneText: "脚本一记录指标，就会显示在这里：",
  noMatch: "没有匹配的指标。",
  noEpochs: "没有记录带轮次的数据。",
  showMore: (count) => `再显示 ${String(count)} 个`,
  zoomHint: "在图上拖动可放大，双击恢复全部。",
  outliers: "忽略离群值",
  groupBy: "分组",
  noGroups: "不分组",
  enlarge: (name: string) => `放大 ${name}`,
  lowest: "纵轴最小值",
  highest: "纵轴最大值",
  automatic: "自动",
};
