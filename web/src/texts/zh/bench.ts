import type { Same } from "../shape";
import type { bench as en } from "../en/bench";

export const bench: Same<typeof en> = {
  title: "评测",
  text: "评测套件的运行记录。开始评测：danlu bench run SUITE",
  suite: "评测套件",
  run: "评测",
  nodes: "节点数",
  state: "状态",
  started: "开始时间",
  result: "结果",
  none: "还没有评测",
  noneText: "danlu bench run memory 可评测集群；每个 Rank 的结果都保存在存储里。",
  notCollected: "未汇总",
  howToCollect: (run) => `汇总结果：danlu bench attach ${run}`,
  verdicts: {
    passed: "通过",
    failed: "未通过",
    stopped: "已停止",
    unfinished: "未完成",
  },
  problems: "问题",
  ofRanks: (measure) => `各 Rank 的 ${measure}`,
  rank: (rank) => `Rank ${rank}`,
  outlier: "偏离中位数",
  slowest: "最慢的服务器",
  spread: "Rank 间差异",
  scaling: "扩展效率",
  mode: "模式",
  modes: { normal: "普通", "single-server": "单服务器" },
  fullReport: "完整报告",
  jobs: "任务",
};
