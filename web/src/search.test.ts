import { expect, test } from "vitest";
import { choiceIn, flagIn, listIn, numberIn, searchOf, textIn } from "./search";

test("what an address says wrongly is said to be none", () => {
  const search = searchOf('?q=["a"]&attempt=x&columns=a,b&tab=nothing&bin=maybe');
  expect(textIn(search, "q")).toEqual({ q: undefined });
  expect(numberIn(search, "attempt")).toEqual({ attempt: undefined });
  expect(numberIn(searchOf("?attempt=[2]"), "attempt")).toEqual({ attempt: undefined });
  expect(listIn(search, "columns")).toEqual({ columns: undefined });
  expect(choiceIn(search, "tab", ["charts"])).toEqual({ tab: undefined });
  expect(flagIn(search, "bin")).toEqual({ bin: undefined });
});

test("what it says rightly is taken, and what it does not say is left out", () => {
  const search = searchOf('?q=12&attempt=2&columns=["a","b"]&tab=charts&bin=true');
  expect(textIn(search, "q")).toEqual({ q: "12" });
  expect(numberIn(search, "attempt")).toEqual({ attempt: 2 });
  expect(listIn(search, "columns")).toEqual({ columns: ["a", "b"] });
  expect(choiceIn(search, "tab", ["charts"])).toEqual({ tab: "charts" });
  expect(flagIn(search, "bin")).toEqual({ bin: true });
  expect(Object.keys(textIn(search, "folder"))).toEqual([]);
});
