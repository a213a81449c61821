import { expect, test } from "vitest";
import { scaleOf } from "./scale";

const texts = (values: readonly unknown[]) => scaleOf(values).ticks.map((tick) => tick.text);

test("the ticks of a hyperparameter are the values that somebody chose", () => {
  expect(texts([16, 64, 32, 64])).toEqual(["16", "32", "64"]);
  expect(texts([0.1, 0.003, 0.0003])).toEqual(["3.00e-4", "0.003", "0.1"]);
});

test("many values have round ticks between their ends", () => {
  const many = Array.from({ length: 20 }, (_, at) => 0.137 + at * 0.0313);
  const ticks = texts(many);
  expect(ticks[0]).toBe("0.137");
  expect(ticks.slice(1, -1)).toEqual(["0.2", "0.4", "0.6"]);
});

test("ticks do not lie on each other", () => {
  const places = scaleOf([0, 0.001, 0.5, 0.999, 1]).ticks.map((tick) => tick.at);
  expect(places).toEqual([0, 0.5, 1]);
});

test("what is not finite has no place, and does not move the others", () => {
  const scale = scaleOf([1, NaN, 3]);
  expect(scale.place(NaN)).toBeUndefined();
  expect(scale.place(3)).toBe(1);
});
