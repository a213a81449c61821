import { expect, it } from "vitest";
import { chartViewIn, withPin, withPinMoved, withYRange, yRangeOf, zoomOf } from "./view";

it("a Y axis is kept by the title of its chart, whatever is in it", () => {
  const title = "train/a=b:c";
  const view = withYRange(withYRange({}, "loss", [0, 1]), title, [undefined, -2.5]);
  expect(yRangeOf(view, title)).toEqual([undefined, -2.5]);
  expect(yRangeOf(view, "loss")).toEqual([0, 1]);
  expect(yRangeOf(view, "acc")).toBeUndefined();
  expect(withYRange(view, title, [undefined, undefined]).ranges).toEqual(["0:1=loss"]);
});

it("a zoom is part of the address", () => {
  expect(zoomOf(chartViewIn({ from: "10", to: "20.5" }))).toEqual([10, 20.5]);
  expect(zoomOf(chartViewIn({ from: "10" }))).toBeUndefined();
  expect(zoomOf(chartViewIn({ from: "20", to: "10" }))).toBeUndefined();
});

it("pinned charts have an order", () => {
  const view = withPin(withPin(withPin({}, "a", true), "b", true), "c", true);
  expect(withPinMoved(view, "c", -1).pins).toEqual(["a", "c", "b"]);
  expect(withPinMoved(view, "a", -1).pins).toEqual(["a", "b", "c"]);
  expect(withPin(view, "b", false).pins).toEqual(["a", "c"]);
  expect(withPin(withPin({}, "a", true), "a", false).pins).toBeUndefined();
});
