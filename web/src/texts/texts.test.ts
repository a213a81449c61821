import { expect, test } from "vitest";
import { texts as allEn } from "./en";
import { texts as allZh } from "./zh";

// reasons and messages are the server's words in English, and a catalogue in Chinese
const en = { ...allEn, reasons: {}, messages: {} };
const zh = { ...allZh, reasons: {}, messages: {} };

type Tree = Record<string, unknown>;

function leaves(tree: Tree, path = ""): [string, unknown][] {
  return Object.entries(tree).flatMap(([key, value]) =>
    typeof value === "object" && value !== null
      ? leaves(value as Tree, `${path}${key}.`)
      : [[`${path}${key}`, value] as [string, unknown]],
  );
}

test("both languages have the same keys", () => {
  expect(
    leaves(zh)
      .map(([key]) => key)
      .sort(),
  ).toEqual(
    leaves(en)
      .map(([key]) => key)
      .sort(),
  );
});

test("no text is empty, and Chinese ones are Chinese", () => {
  for (const [key, value] of leaves(zh)) {
    if (typeof value !== "string") continue;
    expect(value, key).not.toBe("");
    expect(/[一-鿿]/.test(value) || /^[A-Za-z0-9 .,:/-]+$/.test(value), key).toBe(true);
  }
});
