import { expect, test } from "vitest";
import type { Holding } from "@/api/nodes";
import { lanesOf, totalsOf } from "./lanes";

const SINCE = Date.parse("2026-01-01T00:00:00Z");
const UNTIL = Date.parse("2026-01-01T10:00:00Z");
const held = (changes: Partial<Holding>): Holding => ({
  node: "n1",
  device_ids: [],
  cpus: 2,
  memory_bytes: 0,
  rank: 0,
  started_at: "2026-01-01T01:00:00Z",
  ended_at: "2026-01-01T03:00:00Z",
  job: "j",
  name: "j",
  owner: "ada",
  project: "p",
  ...changes,
});

test("each device has a lane, nodes are in natural order", () => {
  const found = lanesOf(
    [held({ node: "n10", device_ids: [1, 0] }), held({ node: "n2", device_ids: [0] })],
    SINCE,
    UNTIL,
  );
  expect(found.map((one) => [one.node, one.lanes.map((lane) => lane.label)])).toEqual([
    ["n2", ["0"]],
    ["n10", ["0", "1"]],
  ]);
  expect(found[0]?.lanes[0]?.spans[0]).toMatchObject({ from: 0.1, to: 0.3 });
});

test("without devices there are as many lanes as went on at once", () => {
  const again = { started_at: "2026-01-01T03:00:00Z", ended_at: null };
  const [only] = lanesOf([held({}), held({}), held(again)], SINCE, UNTIL);
  expect(only?.lanes.map((lane) => lane.spans.length)).toEqual([2, 1]);
  expect(only?.lanes[0]?.spans[1]?.to).toBe(1);
});

test("totals count what lies within the time, hidden users together", () => {
  const before = { started_at: "2025-12-31T00:00:00Z", ended_at: "2026-01-01T01:00:00Z" };
  const hidden = { owner: null, project: null, device_ids: [3] };
  expect(
    totalsOf([held({ ...before, device_ids: [0, 1] }), held({}), held(hidden)], SINCE, UNTIL),
  ).toEqual([
    { owner: "ada", project: "p", deviceHours: 2, coreHours: 6 },
    { owner: "", project: "", deviceHours: 2, coreHours: 4 },
  ]);
});
