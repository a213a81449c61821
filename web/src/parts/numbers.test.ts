import { expect, it } from "vitest";
import { flatten, lastOf, showAmountOfBytes, showBytes, showNumber, showValue } from "./numbers";

it("shows numbers with four digits that count", () => {
  expect([0, 12, 0.123456, 1e-5, 123456.78, 1.5e9, null, NaN].map(showNumber)).toEqual([
    "0",
    "12",
    "0.1235",
    "1.00e-5",
    "123500",
    "1.50e9",
    "–",
    "NaN",
  ]);
});

it("shows a last value that JSON has no number for", () => {
  const metrics = [{ last: 1 }, { odd: "nan" }, { odd: "inf" }, { odd: "-inf" }, { last: null }];
  expect(metrics.map((metric) => showNumber(lastOf(metric)))).toEqual([
    "1",
    "NaN",
    "Infinity",
    "-Infinity",
    "–",
  ]);
});

it("shows sizes as the command line does", () => {
  expect([0, 1023, 1536, 5 * 2 ** 30, 300 * 2 ** 20].map(showBytes)).toEqual([
    "0 B",
    "1023 B",
    "1.5 KiB",
    "5.0 GiB",
    "300 MiB",
  ]);
});

it("shows an amount as it was chosen", () => {
  expect([512e9, 64 * 2 ** 30, 1e12, 1536].map(showAmountOfBytes)).toEqual([
    "512 GB",
    "64 GiB",
    "1 TB",
    "1.5 KiB",
  ]);
});

it("flattens what is nested, and keeps lists and empty maps", () => {
  expect(flatten({ a: { b: 1, c: { d: "x" } }, e: [1], f: {} })).toEqual({
    "a.b": 1,
    "a.c.d": "x",
    e: [1],
    f: {},
  });
  expect(showValue(["a", 1])).toBe('["a",1]');
});
