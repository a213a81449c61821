import { expect, test } from "vitest";
import type { Holding } from "@/api/nodes";
import { historyOf } from "./history";

const HOUR = 3_600_000;
const SINCE = Date.parse("2026-01-01T00:00:00Z");
const DAY = { since: SINCE, until: SINCE + 4 * HOUR, parts: 4 };
const held = (from: number, to: number | null, changes: Partial<Holding> = {}): Holding => ({
  node: "n1",
  device_ids: [0, 1],
  cpus: 3,
  memory_bytes: 0,
  rank: 0,
  started_at: new Date(SINCE + from * HOUR).toISOString(),
  ended_at: to === null ? null : new Date(SINCE + to * HOUR).toISOString(),
  job: "j",
  name: "j",
  owner: "ada",
  project: "p",
  ...changes,
});

test("each part has the mean of what was held in it, also where a job came before or goes on", () => {
  const sums = historyOf([held(-2, 0.5), held(1.5, null)], DAY, "devices").map((one) => one.sum);
  expect(sums).toEqual([1, 1, 2, 2]);
});

test("owners are told apart, hidden ones are together, and cores count where there are no devices", () => {
  const some = [held(0, 1), held(0, 1, { owner: null }), held(0, 0.5, { owner: null })];
  const [first] = historyOf(some, DAY, "cores");
  expect([...(first?.held ?? [])]).toEqual([
    ["ada", 3],
    ["", 4.5],
  ]);
});

test("what had ended before is not counted", () => {
  expect(historyOf([held(-3, -1)], DAY, "devices").map((one) => one.sum)).toEqual([0, 0, 0, 0]);
});
