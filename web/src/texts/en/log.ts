export const log = {
  attempt: "Attempt",
  attemptNumber: (number: number) => `Attempt ${String(number)}`,
  rank: "Rank",
  rankNumber: (rank: number, role: string) => `Rank ${String(rank)} · ${role}`,
  failedFirst: "failed first",
  search: "Search the whole log",
  find: "Find",
  regex: "Regular expression",
  firstError: "First error",
  noError: "No line of this log looks like an error.",
  follow: "Follow",
  toEnd: "To the end",
  download: "Download",
  label: (rank: number) => `Log of rank ${String(rank)}`,
  lines: (count: number) => `${count.toLocaleString("en")} ${count === 1 ? "line" : "lines"}`,
  aboutLines: (count: number) => `about ${count.toLocaleString("en")} lines`,
  nothingYet: "Nothing was printed yet",
  nothing: "Nothing was printed",
  notStartedTitle: "Not started yet",
  notStarted: "The log begins when the job does. Why it waits is on the overview.",
  hits: "Lines that match",
  numHits: (count: number, isCut: boolean) =>
    isCut
      ? `The first ${String(count)} lines that match`
      : `${String(count)} ${count === 1 ? "line matches" : "lines match"}`,
  noHit: "No line matches.",
  searching: (percent: number) => `Searching: ${String(percent)} %`,
};
