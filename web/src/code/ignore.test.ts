import { expect, test } from "vitest";
import wanted from "../../../tests/data/ignore.json";
import { DEFAULTS, ignoring } from "./ignore";

test("the defaults are those of the command line", () => {
  expect(DEFAULTS).toEqual(wanted.defaults);
});

test.each([...wanted.cases, ...wanted.git_only])("$lines leave out what git leaves out", (one) => {
  const isOut = ignoring(one.lines);
  expect(one.kept.filter(isOut)).toEqual([]);
  expect(one.left_out.filter((path) => !isOut(path))).toEqual([]);
});
