import type { Same } from "../shape";
import type { values as en } from "../en/values";

export const values: Same<typeof en> = {
  last: "最后值",
  low: "最小值",
  high: "最大值",
  compareTitle: (count) => `对比 ${String(count)} 个运行`,
  tabs: {
    charts: "指标",
    values: "数值",
    parallel: "平行坐标",
    scatter: "散点图",
  },
  nothing: "没有可对比的内容",
  nothingText: "请在实验表格中选择两个或更多运行。",
  toTable: "前往实验",
  gone: (count) => `有 ${String(count)} 个运行已不存在，或您无权查看。`,
  same: "同时显示相同的值",
  noDifference: "这些运行的数值没有差异。",
  key: "数值",
  axes: "坐标轴",
  chooseAxes: "请至少选择两个坐标轴。",
  brushHint: "沿坐标轴拖动，只保留经过该范围的运行；单击恢复全部。",
  colorBy: "颜色取决于最后一个坐标轴。",
  across: "横轴",
  up: "纵轴",
  noPoints: "没有运行同时具有这两个数值。",
  hide: (name) => `隐藏 ${name}`,
  show: (name) => `显示 ${name}`,
  remove: (name) => `移除 ${name}`,
  passing: (count, total) => `${String(total)} 个运行中的 ${String(count)} 个`,
  runs: "运行",
};
