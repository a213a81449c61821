import { expect, it } from "vitest";
import { chartsOf, isIdle, MOST_LINES, type Resources } from "./quantities";

const words = {
  task: (rank: number) => `rank ${String(rank)}`,
  mean: "mean",
  highest: "highest",
  lowest: "lowest",
  reserved: "reserved",
};
const line = (mean: (number | null)[]) => ({
  mean,
  peak: mean,
  average: 2,
  highest: 4,
  last: mean.at(-1) ?? 0,
});
const task = (rank: number, lines: Resources["tasks"][number]["lines"], cpus = 0) => ({
  rank,
  role: "worker",
  node: "here",
  state: "running" as const,
  cpus,
  memory_bytes: 0,
  num_devices: 0,
  lines,
});
const found = (tasks: Resources["tasks"]): Resources => ({
  job: "train-1",
  attempt: 1,
  num_attempts: 1,
  is_live: true,
  every_seconds: 5,
  at: [105, 110],
  tasks,
});

it("draws a line for each task, and what is reserved", () => {
  const tasks = [0, 1].map((rank) => task(rank, { cpu: line([rank, null]) }, 4));
  const [chart, ...others] = chartsOf(found(tasks), words, false);
  expect(others).toEqual([]);
  expect(chart).toMatchObject({ quantity: "cpu", unit: "cores", average: 2, highest: 4 });
  expect(chart?.lines.map(({ label, x, y }) => ({ label, x, y }))).toEqual([
    { label: "rank 0", x: [0, 5, 10], y: [null, 0, null] },
    { label: "rank 1", x: [0, 5, 10], y: [null, 1, null] },
    { label: "reserved", x: [0, 10], y: [4, 4] },
  ]);
});

it("has one unit for memory and one for all that flows", () => {
  const lines = { memory: line([2 ** 29]), device: line([0.5]), written: line([2e6]) };
  const charts = chartsOf(found([task(0, lines)]), words, false);
  expect(charts.map(isIdle)).toEqual([false, false, true]);
  expect(charts.map(({ unit, lines: [one] }) => [unit, one?.y])).toEqual([
    ["GiB", [null, 0.5]],
    ["%", [null, 50]],
    ["MB/s", [null, 2]],
  ]);
});

it("draws the mean and the extremes of many tasks", () => {
  const tasks = Array.from({ length: MOST_LINES + 1 }, (_, rank) =>
    task(rank, { cpu: line([rank, rank ? null : 7]) }),
  );
  const [chart] = chartsOf(found(tasks), words, false);
  expect(chart?.lines.map(({ label, y }) => [label, y])).toEqual([
    ["highest", [null, 8, 7]],
    ["mean", [null, 4, 7]],
    ["lowest", [null, 0, 7]],
  ]);
});
