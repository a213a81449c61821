import { expect, it } from "vitest";
import { environmentOf } from "@/pages/compare/environment";
import { valuesOf } from "@/pages/experiments/values";
import { told } from "@/texts/told";
import { messages as zh } from "@/texts/zh/messages";
import { flatten } from "./numbers";
import { own, tableOf } from "./own";

const NAMES = ["__proto__", "constructor", "toString", "hasOwnProperty"];
const HOSTILE = JSON.parse(
  '{"__proto__":"a","constructor":"b","toString":{"__proto__":"c"}}',
) as Record<string, unknown>;

it("a table has what was put into it, and nothing else", () => {
  for (const name of NAMES) {
    expect(own({ known: 1 }, name)).toBeUndefined();
    expect(tableOf()[name]).toBeUndefined();
    expect(tableOf([[name, 1]])[name]).toBe(1);
  }
});

it("values keep their names, whatever they are called", () => {
  expect(Object.entries(flatten(HOSTILE))).toEqual([
    ["__proto__", "a"],
    ["constructor", "b"],
    ["toString.__proto__", "c"],
  ]);
});

it("a run has no value that it was not given", () => {
  const run = { hparams: HOSTILE, metrics: [], summary: {} };
  const values = valuesOf(run as unknown as Parameters<typeof valuesOf>[0]);
  expect(values["hparams.__proto__"]).toBe("a");
  expect(values.constructor).toBeUndefined();
});

it("an environment is compared by what is in it", () => {
  const found = environmentOf(HOSTILE);
  expect(Object.keys(found)).toEqual(["__proto__", "constructor", "toString.__proto__"]);
  expect(environmentOf({}).constructor).toBeUndefined();
  expect(environmentOf({ packages: [null, { toString: 1 }, "numpy==2.0"] })).toEqual({
    "packages.numpy": "2.0",
  });
});

it("a message is told, whatever stands in it", () => {
  for (const name of NAMES) {
    expect(told(zh, { code: name, params: {} }, "as it is")).toBe("as it is");
    expect(zh.param("scope", name)).toBe(name);
  }
});
