import { expect, test } from "vitest";
import { naturally } from "./order";

test("numbers in names count", () => {
  expect(["layer10", "layer2", "Layer1", "a"].sort(naturally)).toEqual([
    "a",
    "Layer1",
    "layer2",
    "layer10",
  ]);
});
