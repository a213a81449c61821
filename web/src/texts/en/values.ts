export const values = {
  last: "Last",
  low: "Min",
  high: "Max",
  compareTitle: (count: number) => `Compare ${String(count)} runs`,
  tabs: {
    charts: "Metrics",
    values: "Values",
    parallel: "Parallel coordinates",
    scatter: "Scatter",
  },
  nothing: "Nothing to compare",
  nothingText: "Select two or more runs in the experiments table.",
  toTable: "Go to experiments",
  gone: (count: number) =>
    count === 1
      ? "1 run was deleted, or you don't have access."
      : `${String(count)} runs were deleted, or you don't have access.`,
  same: "Show equal values",
  noDifference: "All values are equal.",
  key: "Value",
  axes: "Axes",
  chooseAxes: "Select at least two axes.",
  brushHint: "Drag along an axis to filter runs; click it to reset.",
  colorBy: "Coloured by the last axis.",
  across: "X axis",
  up: "Y axis",
  noPoints: "No run has both values.",
  hide: (name: string) => `Hide ${name}`,
  show: (name: string) => `Show ${name}`,
  remove: (name: string) => `Remove ${name}`,
  passing: (count: number, total: number) => `${String(count)} of ${String(total)} runs`,
  runs: "Runs",
};
