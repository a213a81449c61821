import { expect, test } from "vitest";
import { bandOf } from "./bands";

const SHOWN = { id: "g", label: "lr=0.1", color: "red" };
const line = (x: number[], y: (number | null)[]) => ({ id: "", label: "", color: "", x, y });

test("a band has the mean, the lowest and the highest at each place", () => {
  const found = bandOf([line([0, 10], [0, 10]), line([0, 10], [2, 20])], SHOWN);
  expect(found).toEqual({
    ...SHOWN,
    x: [0, 10],
    y: [1, 15],
    band: { low: [0, 10], high: [2, 20] },
  });
});

test("values between the places of a line are interpolated, and none beyond its ends", () => {
  const found = bandOf([line([0, 10], [0, 10]), line([5], [1])], SHOWN);
  expect(found.x).toEqual([0, 5, 10]);
  expect(found.y).toEqual([0, 3, 10]);
});

test("one run alone is its own line", () => {
  expect(bandOf([line([1], [2])], SHOWN)).toEqual({ ...SHOWN, x: [1], y: [2] });
});
