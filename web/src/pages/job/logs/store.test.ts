import { expect, test } from "vitest";
import { LogStore, PIECE_BYTES, shown, splitPiece } from "./store";

const encode = (text: string) => new TextEncoder().encode(text);

function storeOf(bytes: Uint8Array): LogStore {
  return new LogStore(
    (offset, size) => Promise.resolve(bytes.slice(offset, offset + size)),
    bytes.length,
  );
}

/** All lines of a log, read piece by piece. */
async function allLines(store: LogStore): Promise<string[]> {
  const lines: string[] = [];
  for (let piece = 0; piece < store.numPieces; piece++) {
    await store.find(piece * PIECE_BYTES);
    const first = store.firstLine(piece);
    const end = store.firstLine(piece + 1);
    for (let line = first; line < end; line++)
      lines.push(store.lineAt(store.placeOf(line))?.text ?? "?");
  }
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

test("what is added is shown, also across the end of a piece", async () => {
  const bytes = encode("x\n".repeat(PIECE_BYTES / 2 + 10));
  const store: LogStore = new LogStore(
    (offset, size) => Promise.resolve(bytes.slice(offset, Math.min(offset + size, store.total))),
    10,
  );
  await store.find(0);
  expect(store.numLines).toBe(5);
  store.grow(10, 14, bytes.slice(10, 14));
  expect(store.numLines).toBe(7);
  store.grow(14, bytes.length);
  expect(await allLines(store)).toHaveLength(PIECE_BYTES / 2 + 10);
});

test("lines are found again by their text", async () => {
  const store = storeOf(encode("a\nsame\nb\nsame\n"));
  expect(await store.findText(0, 14, "same", 0)).toBe(1);
  expect(await store.findText(0, 14, "same", 1)).toBe(3);
  expect(await store.findText(0, 14, "other", 0)).toBeUndefined();
});

test("progress bars and colours leave what one would see", () => {
  expect(shown("10%\r20%\r100%\r")).toBe("100%");
  expect(shown("\u001b[31mred\u001b[0m")).toBe("red");
  expect(shown("<b>&amp;</b>")).toBe("<b>&amp;</b>");
});

test("a piece without a line end has no lines of its own", () => {
  expect(splitPiece(encode("xyz"), true).lines).toEqual([]);
});
