import { expect, test } from "vitest";
import { Gathered } from "./gathered";
import { interleave, linesOf, withRank, type RankEnd } from "./interleaved";

const encode = (text: string) => new TextEncoder().encode(text);
// eslint-disable-next-line no-control-regex -- colours of a terminal
const plain = (text: string) => text.replace(/\u001b\[\d+m/g, "");
const written = (ends: readonly RankEnd[]) =>
  plain(
    interleave(ends)
      .map((line) => withRank(line))
      .join(""),
  );
const FIRST: RankEnd = {
  rank: 0,
  offset: 0,
  bytes: encode("a\nb\n"),
  marks: [
    [2, 10],
    [4, 30],
  ],
};

test("lines of ranks are in the order of their times, each behind its rank", () => {
  const second: RankEnd = { rank: 1, offset: 0, bytes: encode("x\n"), marks: [[2, 20]] };
  expect(written([FIRST, second])).toBe("  0  a\n  1  x\n  0  b\n");
});

test("of a log's end the first line is cut, and left out", () => {
  expect(written([{ rank: 2, offset: 100, bytes: encode("alf\nwhole\r100%\n"), marks: [] }])).toBe(
    "  2  100%\n",
  );
});

test("a line's time is that of its bytes, which are more than its letters", () => {
  const bytes = encode("中文\nb\n");
  const marks: RankEnd["marks"] = [
    [7, 1],
    [9, 2],
  ];
  const lines = interleave([{ rank: 0, offset: 0, bytes, marks }]);
  expect(lines.map((line) => line.at)).toEqual([1, 2]);
});

test("a rank that has printed nothing has no line", () => {
  expect(written([{ rank: 3, offset: 0, bytes: encode(""), marks: [] }])).toBe("");
});

test("the lines of all ranks are counted before they are looked at", async () => {
  const lines = linesOf(0, 1, "x\n".repeat(200_000));
  const { store } = new Gathered(lines).show(undefined, undefined);
  await store.find(store.total);
  expect(store.numLines).toBe(200_000);
});

test("lines that do not match are left out, also of what comes later; times are written on request", async () => {
  const gathered = new Gathered(interleave([FIRST]));
  const { store } = gathered.show("B|c", undefined);
  expect(store.total).toBe(0); // patterns tell capitals apart, as on the server
  const shown = gathered.show("(?i)B|c", (at) => `t${String(at)}`).store;
  gathered.add(linesOf(1, 40, "c\nd\n"));
  await shown.find(0);
  const texts = [0, 1, 2].map((line) => shown.lineAt(shown.placeOf(line))?.text);
  expect(texts).toEqual(["t30    0  b", "t40    1  c", undefined]);
});
