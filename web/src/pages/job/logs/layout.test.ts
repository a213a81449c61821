import { expect, test } from "vitest";
import { Layout } from "./layout";
import { LogStore } from "./store";

const bytes = new TextEncoder().encode("short\n\u001b[31m0123456789\u001b[0mabcde\nlast\n");

async function layoutOf(columns: number | undefined): Promise<Layout> {
  const store = new LogStore(
    (offset, size) => Promise.resolve(bytes.slice(offset, offset + size)),
    bytes.length,
  );
  await store.find(0);
  return new Layout(store, columns);
}

const rows = (layout: Layout) =>
  Array.from({ length: layout.numRows }, (_, row) => layout.rowAt(layout.placeOf(row)));

test("without wrapping a line is a row", async () => {
  const found = rows(await layoutOf(undefined));
  expect(found.map((row) => row?.text)).toEqual(["short", "0123456789abcde", "last"]);
});

test("a long line is several rows, and only the first has its number", async () => {
  const layout = await layoutOf(6);
  const found = rows(layout);
  expect(found.map((row) => row?.text)).toEqual(["short", "012345", "6789ab", "cde", "last"]);
  expect(found.map((row) => row?.number)).toEqual([0, 1, undefined, undefined, 2]);
  expect(found[2]?.spans).toEqual([{ text: "6789", color: 1 }, { text: "ab" }]);
  expect(layout.rowOf(2)).toBe(4);
});
