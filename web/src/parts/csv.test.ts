import { expect, it } from "vitest";
import { csvOf, parseCsv } from "./csv";

it("reads cells, quotes, and lines within quotes", () => {
  expect(parseCsv('a,b\r\n1,"x, ""y""\nz"\n')).toEqual([
    ["a", "b"],
    ["1", 'x, "y"\nz'],
  ]);
});

it("reads tabs, empty cells and a last line without an end", () => {
  expect(parseCsv("a\tb\tc\n1\t\t3")).toEqual([
    ["a", "b", "c"],
    ["1", "", "3"],
  ]);
});

it("stops where it is told to", () => {
  expect(parseCsv("1\n2\n3\n4\n", 2)).toEqual([["1"], ["2"]]);
});

it("writes what it reads, and no formulas", () => {
  const rows = [
    ["name", "x"],
    ['a, "b"\nc', 1.5],
    ["=HYPERLINK(1)", null],
    ["-x", -2],
  ];
  const text = csvOf(rows);
  expect(parseCsv(text)).toEqual([
    ["name", "x"],
    ['a, "b"\nc', "1.5"],
    ["'=HYPERLINK(1)", ""],
    ["'-x", "-2"],
  ]);
});
