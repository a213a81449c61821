import { LogStore, PIECE_BYTES } from "./store";

const NEWLINE = 10;

/** A log that is put together here. */
export class Memory {
  private bytes: Uint8Array;
  readonly store: LogStore;

  constructor(text: string) {
    this.bytes = new TextEncoder().encode(text);
    this.store = new LogStore(
      (offset, size) => Promise.resolve(this.bytes.slice(offset, offset + size)),
      this.bytes.length,
    );
    this.store.tell(0, linesPerPiece(this.bytes), []);
  }

  add(text: string): void {
    const more = new TextEncoder().encode(text);
    const joined = new Uint8Array(this.bytes.length + more.length);
    joined.set(this.bytes);
    joined.set(more, this.bytes.length);
    const offset = this.bytes.length;
    this.bytes = joined;
    this.store.grow(offset, joined.length, more);
  }
}

/** How many lines end in each piece: all of them are here, so that none has to be guessed. */
function linesPerPiece(bytes: Uint8Array): number[] {
  const counts = Array.from({ length: Math.ceil(bytes.length / PIECE_BYTES) }, () => 0);
  for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) {
    const piece = Math.floor(at / PIECE_BYTES);
    counts[piece] = (counts[piece] ?? 0) + 1;
  }
  return counts;
}
