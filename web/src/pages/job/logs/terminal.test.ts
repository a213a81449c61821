import { expect, test } from "vitest";
import { rowsOf } from "./terminal";

const bytes = (text: string) => new TextEncoder().encode(text);
const NOTHING = new Uint8Array();
const texts = async (text: string, before = NOTHING) =>
  (await rowsOf(before, bytes(text))).map((row) => row.text);

test("a return begins the row anew, however far back it lies", async () => {
  const bar = Array.from({ length: 5000 }, (_, at) => `\r${String(at)}%`).join("");
  expect(await texts(`${bar}\ndone\n`)).toEqual(["4999%", "done", ""]);
});

test("a shorter text leaves the rest of a longer one, unless it is cleared", async () => {
  expect(await texts("loading\rok\n")).toEqual(["okading", ""]);
  expect(await texts("loading\r\u001b[Kok\n")).toEqual(["ok", ""]);
});

test("nested bars are two rows", async () => {
  let bars = "";
  for (let at = 0; at < 300; at++) bars += `\router ${String(at)}\n\rinner ${String(at)}\u001b[A`;
  expect(await texts(`${bars}\n\nend\n`)).toEqual(["outer 299", "inner 299", "end", ""]);
});

test("rows that were begun before are finished", async () => {
  expect(await texts("\r20%\nnext\n", bytes("a\nb\n\r10%"))).toEqual(["20%", "next", ""]);
});

test("backspaces, tabs and wide characters are what one sees", async () => {
  expect(await texts("12\b3\n中文\n")).toEqual(["13", "中文", ""]);
});

test("colours and links are kept beside the text", async () => {
  const [row] = await rowsOf(
    NOTHING,
    bytes("\u001b[1;31mred\u001b[0m \u001b]8;;https://x.org/a\u001b\\here\u001b]8;;\u001b\\ end\n"),
  );
  expect(row).toEqual({
    text: "red here end",
    spans: [
      { text: "red", color: 1, isBold: true },
      { text: " " },
      { text: "here", link: "https://x.org/a" },
      { text: " end" },
    ],
  });
});

test("a link that runs something leads nowhere", async () => {
  const [row] = await rowsOf(
    NOTHING,
    bytes("\u001b]8;;javascript:alert(1)\u001b\\x\u001b]8;;\u001b\\\n"),
  );
  expect(row).toEqual({ text: "x" });
});

test("a text that is wider than the terminal is one row", async () => {
  const long = "x".repeat(3000);
  expect(await texts(`\u001b[0m${long}\nnext\n`)).toEqual([long, "next", ""]);
});

test("many rows come in order, once", async () => {
  const lines = Array.from({ length: 3000 }, (_, at) => `\u001b[32mline ${String(at)}\u001b[0m`);
  expect(await texts(`${lines.join("\n")}\n`)).toEqual([
    ...Array.from({ length: 3000 }, (_, at) => `line ${String(at)}`),
    "",
  ]);
});
