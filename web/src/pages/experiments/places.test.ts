import { expect, it } from "vitest";
import type { RunSummary } from "@/api/runs";
import { parseCsv } from "@/parts/csv";
import { valueColumn } from "./columns";
import { tableAsCsv } from "./export";
import { placesOf } from "./places";
import { shortKey, valueOf } from "./values";

it("a run keeps its place while others come and go", () => {
  const first = placesOf(new Map(), ["a", "b", "c"]);
  expect(placesOf(first, ["c", "a", "b"])).toBe(first);
  const without = placesOf(first, ["a", "c"]);
  expect([...without]).toEqual([
    ["a", 0],
    ["c", 2],
  ]);
  expect(placesOf(without, ["d", "a", "c", "e"]).get("d")).toBe(1);
  expect(placesOf(without, ["d", "a", "c", "e"]).get("e")).toBe(3);
});

const RUN = {
  id: "r1",
  name: "=evil()",
  hparams: { lr: 0.1 },
  metrics: [{ type: "val", name: "acc", last: 0.8, low: 0.1, high: 0.9, num_points: 9 }],
} as unknown as RunSummary;

it("the best values of a metric are columns", () => {
  expect(valueOf(RUN, "metrics.val.acc")).toBe(0.8);
  expect(valueOf(RUN, "max(metrics.val.acc)")).toBe(0.9);
  expect(valueOf(RUN, "min(metrics.val.acc)")).toBe(0.1);
  expect(valueOf(RUN, "max(metrics.val.none)")).toBeUndefined();
  expect(shortKey("max(metrics.val.acc)")).toBe("max val.acc");
});

it("a table is exported as it is seen, without formulas", () => {
  const name = { id: "name", title: "Name", cell: () => "", sort: (run: RunSummary) => run.name };
  const columns = [name, valueColumn("max(metrics.val.acc)"), valueColumn("hparams.lr")];
  expect(parseCsv(tableAsCsv([RUN], columns))).toEqual([
    ["id", "name", "max(metrics.val.acc)", "hparams.lr"],
    ["r1", "'=evil()", "0.9", "0.1"],
  ]);
});
