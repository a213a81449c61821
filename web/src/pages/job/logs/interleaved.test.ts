import { expect, test } from "vitest";
import { interleave } from "./interleaved";

const encode = (text: string) => new TextEncoder().encode(text);
// eslint-disable-next-line no-control-regex -- colours of a terminal
const plain = (text: string) => text.replace(/\u001b\[\d+m/g, "");

test("lines of ranks are in the order of their times, each behind its rank", () => {
  const text = interleave([
    {
      rank: 0,
      offset: 0,
      bytes: encode("a\nb\n"),
      marks: [
        [2, 10],
        [4, 30],
      ],
    },
    { rank: 1, offset: 0, bytes: encode("x\n"), marks: [[2, 20]] },
  ]);
  expect(plain(text)).toBe("  0  a\n  1  x\n  0  b\n");
});

test("of a log's end the first line is cut, and left out", () => {
  const text = interleave([
    { rank: 2, offset: 100, bytes: encode("alf\nwhole\r100%\n"), marks: [] },
  ]);
  expect(plain(text)).toBe("  2  100%\n");
});
