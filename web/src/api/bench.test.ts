import { expect, test } from "vitest";
import type { JobSummary } from "./jobs";
import { mainOf, runsOf, type Report } from "./bench";

function job(id: string, nodes: number, run?: string): JobSummary {
  return {
    id,
    nodes,
    tags: run ? { "bench-run": run, bench: "memory" } : {},
  } as unknown as JobSummary;
}

test("jobs are put together by their run, the largest last", () => {
  const found = runsOf([
    job("c", 1, "second"),
    job("b", 2, "first"),
    job("a", 1, "first"),
    job("x", 1),
  ]);
  expect(found.map((run) => [run.id, run.suite, run.jobs.map((one) => one.id)])).toEqual([
    ["second", "memory", ["c"]],
    ["first", "memory", ["a", "b"]],
  ]);
});

test("a report without results has no main measure", () => {
  expect(mainOf({ jobs: [] } as unknown as Report)).toBeUndefined();
});
