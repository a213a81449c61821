import { expect, test } from "vitest";
import { heatOf } from "./heat";
import type { Resources } from "./quantities";

type Task = Resources["tasks"][number];
const task = (rank: number, mean: (number | null)[], average: number) =>
  ({
    rank,
    lines: { cpu: { mean, highest: 1, average } },
    cpus: 1,
    memory_bytes: 0,
  }) as unknown as Task;
const of = (...tasks: Task[]) =>
  ({ at: [100, 105, 110], tasks, every_seconds: 5, attempt: 1, is_live: false }) as Resources;

test("every rank is a row, and the one that did least is named", () => {
  expect(heatOf(of(task(0, [1, 1, 0.5], 0.8), task(1, [0, null, 0.1], 0.05)), "cpu")).toEqual({
    ranks: [0, 1],
    times: [0, 5, 10],
    cells: [
      [1, 1, 0.5],
      [0, null, 0.1],
    ],
    highest: 1,
    laziest: { rank: 1, mean: 0.05 },
  });
});

test("one rank, or none that was measured, is no map", () => {
  expect(heatOf(of(task(0, [1, 1, 1], 1)), "cpu")).toBeUndefined();
  expect(heatOf(of(task(0, [1], 1), task(1, [1], 1)), "device")).toBeUndefined();
});
