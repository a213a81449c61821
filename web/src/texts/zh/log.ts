import type { Same } from "../shape";
import type { log as en } from "../en/log";

export const log: Same<typeof en> = {
  attempt: "尝试",
  attemptNumber: (number) => `第 ${String(number)} 次尝试`,
  rank: "Rank",
  rankNumber: (rank, role) => `Rank ${String(rank)} · ${role}`,
  failedFirst: "最先失败",
  search: "搜索整个日志",
  find: "查找",
  regex: "正则表达式",
  firstError: "首个错误",
  noError: "日志中没有类似错误的行。",
  follow: "跟随",
  toEnd: "到末尾",
  download: "下载",
  label: (rank) => `Rank ${String(rank)} 的日志`,
  lines: (count) => `${count.toLocaleString("en")} 行`,
  aboutLines: (count) => `约 ${count.toLocaleString("en")} 行`,
  nothingYet: "尚无输出",
  nothing: "没有任何输出",
  notStartedTitle: "尚未启动",
  notStarted: "任务启动后才有日志。等待原因见概览。",
  hits: "匹配的行",
  numHits: (count, isCut) => (isCut ? `前 ${String(count)} 行匹配` : `${String(count)} 行匹配`),
  noHit: "没有匹配的行。",
  searching: (percent) => `搜索中：${String(percent)} %`,
};
