import { expect, it } from "vitest";
import { withChanges, type RunSummary } from "./runs";

const run = (id: string, created_at: string, step = 0): RunSummary =>
  ({ id, created_at, step }) as RunSummary;
const ROWS = [run("c", "2026-03"), run("b", "2026-02"), run("a", "2026-01")];
const asMap = (...rows: RunSummary[]) => new Map(rows.map((row) => [row.id, row]));

it("puts new runs where their age belongs and replaces those that changed where they stand", () => {
  const changes = asMap(run("d", "2026-04"), run("x", "2026-02-15"), run("b", "2026-02", 5));
  const { items } = withChanges({ items: ROWS, next: null }, changes);
  expect(items.map((one) => one.id)).toEqual(["d", "c", "x", "b", "a"]);
  expect(items[1]).toBe(ROWS[0]);
  expect(items[3]?.step).toBe(5);
});

it("changes nothing when there is nothing new", () => {
  const list = { items: ROWS, next: null };
  expect(withChanges(list, asMap(run("b", "2026-02")))).toBe(list);
});

it("takes out what is gone", () => {
  const { items } = withChanges({ items: ROWS, next: null }, new Map([["b", null]]));
  expect(items.map((one) => one.id)).toEqual(["c", "a"]);
});

it("leaves to its page what is older than all that is here", () => {
  const list = { items: ROWS, next: "7" };
  expect(withChanges(list, asMap(run("old", "2025-01")))).toBe(list);
});
