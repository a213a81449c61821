import { expect, test } from "vitest";
import { sentBy } from "./keys";

const NONE = { ctrlKey: false, altKey: false, metaKey: false, shiftKey: false };
const sent = (key: string, more: Partial<typeof NONE> = {}, isApplication = false) =>
  sentBy({ ...NONE, ...more, key }, isApplication);

test("keys become what a terminal sends", () => {
  expect(sent("Enter")).toBe("\r");
  expect(sent("Backspace")).toBe("\u007f");
  expect(sent("ArrowUp")).toBe("\u001b[A");
  expect(sent("ArrowUp", {}, true)).toBe("\u001bOA");
  expect(sent("ArrowLeft", { ctrlKey: true })).toBe("\u001b[1;5D");
  expect(sent("Delete")).toBe("\u001b[3~");
  expect(sent("c", { ctrlKey: true })).toBe("\u0003");
  expect(sent("[", { ctrlKey: true })).toBe("\u001b");
  expect(sent(" ", { ctrlKey: true })).toBe("\u0000");
  expect(sent("b", { altKey: true })).toBe("\u001bb");
});

test("text, shortcuts of the browser and the way out are left alone", () => {
  expect(sent("a")).toBeUndefined();
  expect(sent("中")).toBeUndefined();
  expect(sent("v", { ctrlKey: true, shiftKey: true })).toBeUndefined();
  expect(sent("c", { metaKey: true })).toBeUndefined();
  expect(sent("Tab", { shiftKey: true })).toBeUndefined();
  expect(sent("F5")).toBeUndefined();
  expect(sent("1", { ctrlKey: true })).toBeUndefined();
});
