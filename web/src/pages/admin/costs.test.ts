import { expect, test } from "vitest";
import { summed, totals, type CostRow } from "./costs";

const row = (project: string, user: string, cost: string, currency = "CNY"): CostRow => ({
  project,
  user,
  currency,
  num_jobs: 2,
  hours: 1.5,
  cost,
});
const ROWS = [
  row("vision", "ada", "1.25"),
  row("vision", "bo", "10"),
  row("speech", "ada", "2"),
  row("speech", "ada", "3", "USD"),
];

test("rows are added up by what is asked for, most expensive first", () => {
  expect(summed(ROWS, "both").map((one) => [one.project, one.user, one.cost])).toEqual([
    ["vision", "bo", 10],
    ["speech", "ada", 3],
    ["speech", "ada", 2],
    ["vision", "ada", 1.25],
  ]);
  expect(summed(ROWS, "project").map((one) => [one.project, one.currency, one.cost])).toEqual([
    ["vision", "CNY", 11.25],
    ["speech", "USD", 3],
    ["speech", "CNY", 2],
  ]);
  expect(summed(ROWS, "user")[1]).toEqual({
    user: "ada",
    currency: "CNY",
    jobs: 4,
    hours: 3,
    cost: 3.25,
  });
});

test("currencies are not added up", () => {
  expect(totals(ROWS)).toEqual([
    ["CNY", 13.25],
    ["USD", 3],
  ]);
});
