import { expect, it } from "vitest";
import { barsOf, countedIn, curvesIn, matrixIn, picturesIn, tableIn } from "./parsed";

const HOSTILE = ["null", "[]", "7", '"text"', "{", '{"__proto__":{"lines":[]}}', "{}"];

it.each([curvesIn, matrixIn, picturesIn, tableIn, countedIn])(
  "what is no such medium is none",
  (read) => {
    for (const text of HOSTILE) expect(read(text)).toBeUndefined();
  },
);

it("a curve that is none is left out, and its name is always text", () => {
  const lines = [
    null,
    7,
    "text",
    [1, 2],
    { name: "short", x: [0], y: [] },
    { name: "__proto__", x: [0, 1], y: [1, 0], area: 0.5 },
    { name: { toString: null }, x: [0], y: [1], area: "0.5" },
    { x: [0], y: [1] },
  ];
  expect(curvesIn(JSON.stringify({ x: "recall", y: { toString: 1 }, lines }))).toEqual({
    x: "recall",
    y: '{"toString":1}',
    lines: [
      { name: "__proto__", x: [0, 1], y: [1, 0], area: 0.5 },
      { name: '{"toString":null}', x: [0], y: [1], area: null },
      { name: "", x: [0], y: [1], area: null },
    ],
  });
});

it("labels of a matrix are text", () => {
  const labels = [{ toString: 1 }, "constructor"];
  const text = JSON.stringify({
    labels,
    counts: [
      [1, 0],
      [0, 1],
    ],
  });
  expect(matrixIn(text)?.labels).toEqual(['{"toString":1}', "constructor"]);
});

it("a histogram has numbers only", () => {
  expect(countedIn('{"edges":[0,1],"counts":[null]}')).toBeUndefined();
  expect(countedIn('{"edges":[0,1],"counts":[2]}')).toEqual({ edges: [0, 1], counts: [2] });
});

it("a histogram of any number of bins has as many bars as can be told apart", () => {
  expect(barsOf([1, 0, 2])).toEqual([1, 0, 2]);
  const bars = barsOf(new Array<number>(1_000_000).fill(1));
  expect(bars).toHaveLength(400);
  expect(bars[0]).toBe(2500);
  expect(barsOf([])).toEqual([]);
});
