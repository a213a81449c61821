import { describe, expect, it } from "vitest";
import { nearest, placeOf, rangeOfX, rangeOfY, smooth, type ChartLine } from "./lines";

function line(x: number[], y: (number | null)[]): ChartLine {
  return { id: "a", label: "a", color: "#000", x, y };
}

describe("smooth", () => {
  it("leaves values as they are without weight", () => {
    expect(smooth([1, null, 3], 0)).toEqual([1, null, 3]);
  });
  it("keeps a constant line constant from its first point on", () => {
    for (const value of smooth([5, 5, 5, 5], 0.9)) expect(value).toBeCloseTo(5);
  });
  it("starts at the first value and passes over gaps", () => {
    const [first, gap, last] = smooth([2, null, 4], 0.5);
    expect(first).toBe(2);
    expect(gap).toBeNull();
    expect(last).toBeCloseTo((0.5 * 1 + 0.5 * 4) / 0.75);
  });
});

describe("rangeOfX", () => {
  it("spans all lines", () => {
    expect(rangeOfX([line([0, 5], [1, 1]), line([3, 9], [1, 1])])).toEqual([0, 9]);
  });
  it("gives a single point room", () => {
    expect(rangeOfX([line([4], [1])])).toEqual([3.5, 4.5]);
  });
  it("knows when there is nothing", () => {
    expect(rangeOfX([line([], [])])).toBeUndefined();
  });
});

describe("rangeOfY", () => {
  const spiky = line([0, 1, 2, 3, 4], [1, 1, 100, 2, 2]);
  it("is that of what is in sight", () => {
    const [low, high] = rangeOfY([spiky], [3, 4], false);
    expect(low).toBeLessThan(2);
    expect(high).toBeGreaterThanOrEqual(100); // the line that leads into the picture counts
    expect(rangeOfY([spiky], [3.5, 4], false)[1]).toBeLessThan(3);
  });
  it("leaves out what a log scale cannot show", () => {
    const [low, high] = rangeOfY([line([0, 1, 2], [-1, 0, 10])], [0, 2], true);
    expect(low).toBeGreaterThan(0);
    expect(high).toBeGreaterThan(10);
  });
  it("gives a flat line room", () => {
    expect(rangeOfY([line([0, 1], [0, 0])], [0, 1], false)).toEqual([-0.5, 0.5]);
  });
});

describe("nearest", () => {
  it("finds the closer side and passes over gaps", () => {
    const some = line([0, 10, 20, 30], [1, null, null, 4]);
    expect(nearest(some, 12)).toBe(0);
    expect(nearest(some, 21)).toBe(3);
    expect(nearest(line([0, 1], [null, null]), 0)).toBeUndefined();
  });
  it("places beyond the ends", () => {
    expect(placeOf([1, 2, 3], 0)).toBe(0);
    expect(placeOf([1, 2, 3], 9)).toBe(3);
    expect(nearest(line([1, 2], [5, 6]), 100)).toBe(1);
  });
});

it("without outliers a spike does not flatten the rest", () => {
  const y = [1, 1.1, 0.9, 1, 1.05, 0.95, 1, 1.1, 0.9, 1e9];
  const line = { id: "", label: "", color: "", x: y.map((_, at) => at), y };
  expect(rangeOfY([line], [0, 9], false)[1]).toBeGreaterThan(1e9);
  expect(rangeOfY([line], [0, 9], false, true)[1]).toBeLessThan(2);
});
