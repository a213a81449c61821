export const overview = {
  title: "Overview",
  mine: "My active jobs",
  noneTitle: "No active jobs",
  noneText: "Submit a job here, or run a command from a folder with your code:",
  failed: "Recent failures",
  noFailed: "No recent failures.",
  devices: "Devices",
  used: (used: number, total: number) => `${String(used)} of ${String(total)} in use`,
  noDevices: "No node has accelerators; jobs run on CPUs.",
  nodes: (count: number, reachable: number) =>
    count === reachable
      ? `${String(count)} ${count === 1 ? "node" : "nodes"}`
      : `${String(reachable)} of ${String(count)} nodes online`,
  cores: "Cores reserved",
  memory: "Memory reserved",
  quota: (project: string) => `Quota of ${project}`,
  noQuota: "No limit is set.",
  quotaUse: (used: string, quota: string) => `${used} of ${quota}`,
  runs: "Recent runs",
  noRuns: "What training scripts log with danlu.track appears here.",
  run: "Run",
  step: "Step",
  updated: "Started",
  allJobs: "All jobs",
  done: "Recently ended",
};
