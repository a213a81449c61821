import { expect, it } from "vitest";
import { withNewest, type RunRow } from "./runs";

const run = (id: string, step = 0): RunRow => ({ id, step }) as RunRow;

it("puts new runs first and replaces those that changed where they stand", () => {
  const [first, second, third] = [run("c"), run("b"), run("a")];
  const after = withNewest([first, second, third], [run("d"), run("c"), run("b", 5)]);
  expect(after.map((one) => one.id)).toEqual(["d", "c", "b", "a"]);
  expect(after[1]).toBe(first);
  expect(after[2]?.step).toBe(5);
});

it("changes nothing when there is nothing new", () => {
  const rows = [run("b"), run("a")];
  expect(withNewest(rows, [run("b")])).toBe(rows);
});
