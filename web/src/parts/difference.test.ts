import { expect, test } from "vitest";
import { differenceOf } from "./difference";

test("a number is told against the baseline in percent", () => {
  expect(differenceOf(1.125, 1)).toBe("+12.5 %");
  expect(differenceOf(-0.9, -1)).toBe("+10.0 %");
  expect(differenceOf(0.99, 1)).toBe("-1.00 %");
});

test("nothing is told of what has no ratio", () => {
  expect([differenceOf(1, 0), differenceOf(NaN, 1), differenceOf("a", 1)]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});
