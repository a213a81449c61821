export const values = {
  last: "Last",
  low: "Lowest",
  high: "Highest",
  compareTitle: (count: number) => `Compare ${String(count)} runs`,
  tabs: {
    charts: "Metrics",
    values: "Values",
    parallel: "Parallel coordinates",
    scatter: "Scatter",
  },
  nothing: "Nothing to compare",
  nothingText: "Choose two runs or more in the table of experiments.",
  toTable: "To the experiments",
  gone: (count: number) =>
    count === 1
      ? "1 of the runs is not there any more, or not yours to see."
      : `${String(count)} of the runs are not there any more, or not yours to see.`,
  same: "Also what is the same in all",
  noDifference: "The runs do not differ in any value.",
  key: "Value",
  axes: "Axes",
  chooseAxes: "Choose at least two axes.",
  brushHint: "Drag along an axis to keep only the runs that pass there; click it to keep all.",
  colorBy: "The colour follows the last axis.",
  across: "Across",
  up: "Up",
  noPoints: "No run has a number for both.",
  hide: (name: string) => `Hide ${name}`,
  show: (name: string) => `Show ${name}`,
  remove: (name: string) => `Leave out ${name}`,
  passing: (count: number, total: number) => `${String(count)} of ${String(total)} runs`,
};
