import { expect, test } from "vitest";
import { positionOf, realHeight, scrolledTo } from "./scroll";

const SHORT = { height: 100_000, view: 600 };
const LONG = { height: 190_000_000, view: 600 };

test("a log that fits is where the box is", () => {
  expect(realHeight(SHORT.height)).toBe(SHORT.height);
  expect(positionOf(5_000, SHORT)).toEqual({ top: 5_000, real: 5_000 });
  expect(scrolledTo(90_000, { top: 0, real: 0 }, SHORT)).toEqual({ top: 90_000, real: 90_000 });
});

test("the box of ten million lines can be as tall as every browser allows", () => {
  expect(realHeight(LONG.height)).toBeLessThan(17_000_000);
});

test("both ends of a long log can be reached", () => {
  const end = positionOf(Infinity, LONG);
  expect(end).toEqual({ top: LONG.height - LONG.view, real: realHeight(LONG.height) - LONG.view });
  expect(scrolledTo(0, end, LONG)).toEqual({ top: 0, real: 0 });
  expect(scrolledTo(end.real, { top: 0, real: 0 }, LONG)).toEqual(end);
});

test("a step of the wheel is as long in a long log as in a short one", () => {
  const here = positionOf(100_000_000, LONG);
  for (const step of [120, -540, 1900])
    expect(scrolledTo(here.real + step, here, LONG).top - here.top).toBe(step);
});
