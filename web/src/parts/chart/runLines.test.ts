import { expect, it } from "vitest";
import { groupedLines, ownAxis } from "./runLines";

it("groups are in the order of their numbers, with how many runs each has", () => {
  const groups = ["lr=0.1", "lr=0.01", "lr=10", "lr=0.1"];
  const runs = groups.map((group, at) => ({
    id: `r${String(at)}`,
    name: "",
    started_at: "",
    together: group,
  }));
  const lines = runs.map((run, at) => ({
    id: `${run.id} train/loss`,
    label: "",
    color: "",
    x: [0, 1],
    y: [at, at + 2],
  }));
  const found = groupedLines(lines, runs, false);
  expect(found.map((line) => line.label)).toEqual(["lr=0.01 (1)", "lr=0.1 (2)", "lr=10 (1)"]);
  expect(found[1]?.y).toEqual([1.5, 3.5]);
  expect(found[1]?.band).toEqual({ low: [0, 2], high: [3, 5] });
});

it("a chart over a metric names it as the page does", () => {
  expect(ownAxis([{ axis: "/samples" }, { axis: "/samples" }], "step")).toBe("samples");
  expect(ownAxis([{ axis: "train/epoch" }, { axis: null }, {}], "step")).toBe("train/epoch, step");
  expect(ownAxis(undefined, "step")).toBe("step");
  expect(ownAxis([], "step")).toBe("step");
});
