import { expect, test } from "vitest";
import { hiddenIn, visible, visibleLine } from "./visible";

test.each([
  "plain words, 中文，日本語 かな, Ελληνικά, Русский, naïve café, 1 × 2 – 3…",
  "two\nlines\tand a tab",
  "👩‍💻 👍🏽 ❤️ ✈︎",
  "क्‍ष নমস্কার ไทย",
  "ế ǭ̣",
])("%s stays as it is", (text) => {
  expect(visible(text)).toBe(text);
  expect(hiddenIn(text)).toEqual([]);
});

test.each([
  [
    "controls",
    "a\u0000b\u0007\u0008\u001b[2J\u007f\u0085",
    "a\\u0000b\\u0007\\u0008\\u001B[2J\\u007F\\u0085",
  ],
  ["returns", "good\rbad", "good\\u000Dbad"],
  ["overrides", "photo\u202Egpj.exe", "photo\\u202Egpj.exe"],
  ["isolates and marks", "\u2066a\u2069\u200E\u200F\u061C", "\\u2066a\\u2069\\u200E\\u200F\\u061C"],
  ["what has no width", "ad\u200Bm\u2060i\u00ADn\uFEFF", "ad\\u200Bm\\u2060i\\u00ADn\\uFEFF"],
  ["joiners where nothing joins", "ad\u200Dm\u200Cin", "ad\\u200Dm\\u200Cin"],
  ["fillers", "\u3164\u115F\uFFA0", "\\u3164\\u115F\\uFFA0"],
  ["tags", "a\u{E0041}", "a\\u{E0041}"],
  ["separators", "a\u2028b\u2029c", "a\\u2028b\\u2029c"],
  ["halves of characters", "a\uD800b", "a\\uD800b"],
])("%s are written out", (_, text, shown) => {
  expect(visible(text)).toBe(shown);
  expect(visible(shown)).toBe(shown);
});

test("marks do not pile up over other lines", () => {
  const tower = `a${"\u0301".repeat(30)}`;
  expect(visible(tower)).toBe(`a${"\u0301".repeat(4)}${"\\u0301".repeat(26)}`);
});

test("letters from right to left are kept apart from what stands beside them", () => {
  const shown = visible("שלום 123");
  expect(shown).toBe("\u2066שלום 123\u2069");
  expect(visible(shown)).toBe(shown);
});

test("an isolate that hides something is no shelter", () => {
  expect(visible("\u2066a\u202Eb\u2069")).toBe("\\u2066a\\u202Eb\\u2069");
});

test("a name is on one line", () => {
  expect(visibleLine("a\nb\tc")).toBe("a\\nb\\tc");
});

test("the middle of a very long word is left out, ends and other words stay", () => {
  const digest = "0123456789abcdef".repeat(4);
  expect(visibleLine(`${digest} two`)).toBe(`${digest} two`);
  expect(visibleLine(`one ${"a".repeat(5000)}.pt two`)).toBe(
    `one ${"a".repeat(70)}…${"a".repeat(36)}.pt two`,
  );
  expect(visible("a".repeat(5000))).toHaveLength(5000);
});

test("hidden characters are named, each once", () => {
  expect(hiddenIn("\u202Ea\u202Eb\u{E0041}")).toEqual(["U+202E", "U+E0041"]);
});
