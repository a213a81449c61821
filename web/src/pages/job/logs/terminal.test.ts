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

test("a link is where it was written, however many rows came before", async () => {
  const link = (at: number) =>
    `\u001b]8;;https://x.org/${String(at)}\u001b\\${String(at)}\u001b]8;;\u001b\\ text\n`;
  const all = Array.from({ length: 2000 }, (_, at) => (at % 100 === 99 ? link(at) : "\n")).join("");
  const rows = await rowsOf(bytes(all), bytes(all));
  const linked = rows.flatMap((row, at) => (row.spans?.[0]?.link ? [[at, row.spans[0].link]] : []));
  expect(linked).toEqual(
    Array.from({ length: 20 }, (_, at) => [
      at * 100 + 99,
      `https://x.org/${String(at * 100 + 99)}`,
    ]),
  );
});

test("rows that came before are not shown again, however many follow", async () => {
  const lines = (from: number, count: number) =>
    Array.from({ length: count }, (_, at) => `\u001b[32m${String(from + at)}\u001b[0m\n`).join("");
  const found = await texts(lines(1000, 2000), bytes(lines(0, 1000)));
  expect(found.length).toBe(2001);
  expect(found.slice(0, 2)).toEqual(["1000", "1001"]);
  expect(found.slice(-2)).toEqual(["2999", ""]);
});

test("a long row that goes on is whole", async () => {
  const long = "x".repeat(1500);
  expect(await texts(`yes\u001b[0m\nnext\n`, bytes(`\u001b[0ma\n${long}`))).toEqual([
    `${long}yes`,
    "next",
    "",
  ]);
});

test("Keras steps back over its bar and draws it again", async () => {
  let text = "Epoch 1/1\n";
  let width = 0;
  for (let step = 1; step <= 300; step++) {
    const bar = `${String(step).padStart(3)}/300 [${"=".repeat(step / 10).padEnd(30, ".")}] - loss: 0.5`;
    text += `${"\b".repeat(width)}\r${bar}`;
    width = bar.length;
  }
  expect(await texts(`${text}\nend\n`)).toEqual([
    "Epoch 1/1",
    `300/300 [${"=".repeat(30)}] - loss: 0.5`,
    "end",
    "",
  ]);
});

test("a live table of rich is one table, as it was drawn last", async () => {
  const table = (step: number) => `┌──────┐\n│ ${String(step).padStart(4)} │\n└──────┘`;
  let text = table(0);
  for (let step = 1; step < 200; step++)
    text += `\r\u001b[2K\u001b[1A\u001b[2K\u001b[1A\u001b[2K${table(step)}`;
  expect(await texts(`${text}\ndone\n`)).toEqual(["┌──────┐", "│  199 │", "└──────┘", "done", ""]);
});

test("what comes after a line that began above the screen is whole, and nothing else is", async () => {
  const wrapped = "x".repeat(1000);
  const above = `${wrapped}\n${"line\n".repeat(510)}`;
  expect(await texts("ours\n", bytes(above))).toEqual(["ours", ""]);
  const long = "y".repeat(512 * 600);
  const lengths = async (text: string, before: string) =>
    (await texts(text, bytes(before))).map((row) => row.length);
  expect(await lengths("zz\nnext\n", long)).toEqual([long.length + 2, 4, 0]);
  expect(await lengths("zz\nnext\n", `${long}y`)).toEqual([long.length + 3, 4, 0]);
  expect(await lengths("next\n", `${long}\n`)).toEqual([4, 0]);
});
