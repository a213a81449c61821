import { expect, test } from "vitest";
import { LogStore, PIECE_BYTES } from "./store";

const encode = (text: string) => new TextEncoder().encode(text);

function storeOf(bytes: Uint8Array): LogStore {
  return new LogStore(
    (offset, size) => Promise.resolve(bytes.slice(offset, offset + size)),
    bytes.length,
  );
}

/** All lines of a log, read piece by piece. */
async function allLines(store: LogStore): Promise<string[]> {
  for (let piece = 0; piece < store.numPieces; piece++) await store.find(piece * PIECE_BYTES);
  const lines: string[] = [];
  for (let line = 0; line < store.numLines; line++)
    lines.push(store.lineAt(store.placeOf(line))?.text ?? "?");
  return lines;
}

test("every line is there once, wherever the log is cut", async () => {
  const wanted: string[] = [];
  let size = 0;
  for (let number = 0; size < 3 * PIECE_BYTES; number++) {
    const line = `line ${String(number)} ${"中".repeat(number % 50)}`;
    wanted.push(line);
    size += encode(line).length + 1;
  }
  expect(await allLines(storeOf(encode(wanted.join("\n") + "\n")))).toEqual(wanted);
});

test("a line that ends exactly with a piece leaves no empty one behind", async () => {
  const first = "a".repeat(PIECE_BYTES - 1);
  expect(await allLines(storeOf(encode(`${first}\nb\nc`)))).toEqual([first, "b", "c"]);
});

test("a progress bar of many pieces is one line, with its end", async () => {
  const bar = Array.from({ length: 60_000 }, (_, at) => `\r${String(at)}/60000 it`).join("");
  expect(await allLines(storeOf(encode(`start\n${bar}\nend\n`)))).toEqual([
    "start",
    "59999/60000 it",
    "end",
  ]);
});

test("what is added is shown, also across the end of a piece", async () => {
  const bytes = encode("x\n".repeat(PIECE_BYTES / 2 + 10));
  const store: LogStore = new LogStore(
    (offset, size) => Promise.resolve(bytes.slice(offset, Math.min(offset + size, store.total))),
    10,
  );
  await store.find(0);
  expect(store.numLines).toBe(5);
  store.grow(10, 14, bytes.slice(10, 14));
  await new Promise((resolve) => setTimeout(resolve));
  expect(store.numLines).toBe(7);
  store.grow(14, bytes.length);
  expect(await allLines(store)).toHaveLength(PIECE_BYTES / 2 + 10);
});

test("the server's count gives lines their numbers before they are here", async () => {
  const line = `${"y".repeat(63)}\n`;
  const store = storeOf(encode(line.repeat((4 * PIECE_BYTES) / 64)));
  expect(store.isCounted).toBe(false);
  store.tell(0, [4096, 4096, 4096, 4096], [[128, 1_700_000_000]]);
  await store.find(3 * PIECE_BYTES + 1);
  expect(store.isCounted).toBe(true);
  expect(store.numLines).toBe(4 * 4096);
  expect(await store.find(2 * PIECE_BYTES + 64)).toBe(2 * 4096 + 1);
  expect(store.timeAt(64)).toBe(1_700_000_000);
});

test("a piece is fetched once, whoever wants it, and again when it did not come", async () => {
  const bytes = encode("x\n".repeat(PIECE_BYTES));
  let isAway = true;
  const asked: number[] = [];
  const store = new LogStore((offset, size) => {
    asked.push(offset);
    return isAway
      ? Promise.reject(new Error("away"))
      : Promise.resolve(bytes.slice(offset, offset + size));
  }, bytes.length);
  store.want(1, 1);
  await store.find(bytes.length);
  expect(asked).toHaveLength(1);
  isAway = false;
  store.retry();
  store.want(0, 0); // somebody looks at the beginning; the end is still wanted
  store.want(0, 0);
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect([store.has(0), store.has(1)]).toEqual([true, true]);
  expect(asked).toHaveLength(3);
});
