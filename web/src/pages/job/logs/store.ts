// A log of any length, of which only pieces are here. The log is cut into pieces of equal size; a line belongs to the
// piece in which it begins. How many lines a piece has is known once it was fetched, and guessed before.

export const PIECE_BYTES = 256 << 10;
const BEYOND_BYTES = 16 << 10; // the end of a piece's last line; what is longer is cut
const MOST_PIECES = 96;
const FIRST_GUESS = 80; // bytes per line
const AGAIN_MS = 3_000;
const NEWLINE = 10;

export type ReadRange = (offset: number, size: number, signal: AbortSignal) => Promise<Uint8Array>;
export type Line = { text: string; offset: number };
export type Place = { piece: number; index: number };

type Piece = { bytes: Uint8Array; lines: string[]; starts: number[]; isWhole: boolean };

export class LogStore {
  private readonly pieces = new Map<number, Piece>();
  private readonly fetching = new Map<number, AbortController>();
  private readonly failed = new Set<number>();
  /** Why the last piece that was asked for did not come; undefined when it did. */
  problem: unknown;
  private readonly counts = new Map<number, number>();
  private bytesPerLine = FIRST_GUESS;
  private listeners = new Set<() => void>();
  /** Grows with each change. */
  version = 0;
  total: number;

  constructor(
    private readonly read: ReadRange,
    total: number,
  ) {
    this.total = total;
  }

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => {
      this.listeners.delete(listener);
    };
  };

  getVersion = (): number => this.version;

  close(): void {
    for (const controller of this.fetching.values()) controller.abort();
    this.fetching.clear();
  }

  get numPieces(): number {
    return Math.max(1, Math.ceil(this.total / PIECE_BYTES));
  }

  /** Lines in all, guessed where a piece was not fetched yet. */
  get numLines(): number {
    return this.firstLine(this.numPieces);
  }

  /** Whether all pieces before this one are known, so that lines in it have numbers. */
  isCounted(piece: number): boolean {
    for (let at = 0; at < piece; at++) if (!this.counts.has(at)) return false;
    return true;
  }

  /** The number of the first line of a piece. */
  firstLine(piece: number): number {
    let lines = 0;
    for (let at = 0; at < piece; at++) lines += this.count(at);
    return lines;
  }

  /** Which piece a line is in, and where. */
  placeOf(line: number): Place {
    let left = Math.max(0, line);
    const last = this.numPieces - 1;
    for (let piece = 0; piece < last; piece++) {
      const count = this.count(piece);
      if (left < count) return { piece, index: left };
      left -= count;
    }
    return { piece: last, index: left };
  }

  /** A line, or undefined while it is being fetched. */
  lineAt(place: Place): Line | undefined {
    const piece = this.pieces.get(place.piece);
    const text = piece?.lines[place.index];
    if (piece === undefined || text === undefined) return undefined;
    return { text, offset: place.piece * PIECE_BYTES + (piece.starts[place.index] ?? 0) };
  }

  has(piece: number): boolean {
    return this.pieces.has(piece);
  }

  /** Fetch the pieces from one to another, and forget those far from them. */
  want(first: number, last: number): void {
    for (let at = Math.max(0, first); at <= Math.min(last, this.numPieces - 1); at++) {
      const held = this.pieces.get(at);
      if (this.fetching.has(at) || this.failed.has(at)) continue;
      if (held && (held.isWhole || this.end(at, held) >= this.total)) continue;
      void this.fetch(at);
    }
    for (const [at, controller] of this.fetching) {
      if (at < first - 2 || at > last + 2) controller.abort();
    }
    if (this.pieces.size <= MOST_PIECES) return;
    const far = [...this.pieces.keys()].sort(
      (a, b) => distance(b, first, last) - distance(a, first, last),
    );
    for (const at of far.slice(0, this.pieces.size - MOST_PIECES)) this.pieces.delete(at);
  }

  /** Ask again for what did not come. */
  retry = (): void => {
    if (!this.failed.size) return;
    this.failed.clear();
    this.changed();
  };

  /** More of the log is there: with its bytes if they came along. */
  grow(offset: number, end: number, bytes?: Uint8Array): void {
    if (end <= this.total) return;
    this.total = end;
    const at = Math.floor(offset / PIECE_BYTES);
    const held = this.pieces.get(at);
    if (held && bytes?.length === end - offset && this.end(at, held) === offset) {
      const joined = new Uint8Array(held.bytes.length + bytes.length);
      joined.set(held.bytes);
      joined.set(bytes, held.bytes.length);
      this.put(at, joined);
    } else if (held && !held.isWhole) {
      void this.fetch(at);
    }
    this.changed();
  }

  /** Fetch what is needed to show this byte, and say which line it is in. */
  async find(offset: number): Promise<number> {
    const at = Math.min(Math.floor(offset / PIECE_BYTES), this.numPieces - 1);
    if (!this.pieces.has(at)) await this.fetch(at);
    const starts = this.pieces.get(at)?.starts ?? [];
    const within = offset - at * PIECE_BYTES;
    let index = starts.findLastIndex((start) => start <= within);
    if (index < 0) index = 0;
    return this.firstLine(at) + index;
  }

  /** The place of a line with this text among those that begin in a range; the n-th of them. */
  async findText(from: number, to: number, text: string, nth: number): Promise<number | undefined> {
    let left = nth;
    const last = Math.min(Math.floor((to - 1) / PIECE_BYTES), this.numPieces - 1);
    for (let at = Math.floor(from / PIECE_BYTES); at <= last; at++) {
      if (!this.pieces.has(at)) await this.fetch(at);
      const piece = this.pieces.get(at);
      if (!piece) return undefined;
      for (const [index, line] of piece.lines.entries()) {
        const offset = at * PIECE_BYTES + (piece.starts[index] ?? 0);
        if (offset >= from && offset < to && line === text && left-- === 0) {
          return this.firstLine(at) + index;
        }
      }
    }
    return undefined;
  }

  private count(piece: number): number {
    const known = this.counts.get(piece);
    if (known !== undefined) return known;
    const size = Math.min(PIECE_BYTES, this.total - piece * PIECE_BYTES);
    return Math.max(0, Math.ceil(size / this.bytesPerLine));
  }

  private end(at: number, piece: Piece): number {
    return at * PIECE_BYTES + piece.bytes.length - (at ? 1 : 0);
  }

  private async fetch(at: number): Promise<void> {
    const controller = new AbortController();
    this.fetching.set(at, controller);
    try {
      // with the byte before it, which says whether the piece begins with a line
      const first = at ? at * PIECE_BYTES - 1 : 0;
      const bytes = await this.read(
        first,
        PIECE_BYTES + BEYOND_BYTES + (at ? 1 : 0),
        controller.signal,
      );
      if (!controller.signal.aborted) {
        this.put(at, bytes);
        this.problem = undefined;
      }
    } catch (error) {
      if (!controller.signal.aborted) {
        this.failed.add(at);
        this.problem = error;
        setTimeout(this.retry, AGAIN_MS);
      }
    } finally {
      if (this.fetching.get(at) === controller) this.fetching.delete(at);
      this.changed();
    }
  }

  private put(at: number, bytes: Uint8Array): void {
    const { lines, starts } = splitPiece(bytes, at > 0);
    const isWhole = bytes.length - (at ? 1 : 0) >= PIECE_BYTES;
    this.pieces.set(at, { bytes, lines, starts, isWhole });
    if (isWhole || at === this.numPieces - 1) this.counts.set(at, lines.length);
    else this.counts.delete(at);
    const numLines = [...this.counts.values()].reduce((sum, count) => sum + count, 0);
    const numBytes = Math.min(this.counts.size * PIECE_BYTES, this.total);
    if (numLines) this.bytesPerLine = numBytes / numLines;
  }

  private changed(): void {
    this.version++;
    for (const listener of this.listeners) listener();
  }
}

/** The lines that begin in a piece. `hasByteBefore`: the first byte belongs to the piece before. */
export function splitPiece(
  bytes: Uint8Array,
  hasByteBefore: boolean,
): { lines: string[]; starts: number[] } {
  const skipped = hasByteBefore ? 1 : 0;
  const decoder = new TextDecoder();
  const lines: string[] = [];
  const starts: number[] = [];
  let at = 0;
  if (hasByteBefore) {
    const end = bytes.indexOf(NEWLINE);
    if (end < 0) return { lines, starts };
    at = end + 1;
  }
  while (at < bytes.length && at - skipped < PIECE_BYTES) {
    let end = bytes.indexOf(NEWLINE, at);
    if (end < 0) end = bytes.length;
    lines.push(shown(decoder.decode(bytes.subarray(at, end))));
    starts.push(at - skipped);
    at = end + 1;
  }
  return { lines, starts };
}

// eslint-disable-next-line no-control-regex -- what terminals take as orders
const ORDERS = /\u001b\[[0-9;?]*[A-Za-z]|\u001b\][^\u0007]*\u0007|\u001b[()][A-Z0-9]/g;

/** A line as a terminal would leave it: the last of what was written over, without colours. */
export function shown(line: string): string {
  let text = line.endsWith("\r") ? line.slice(0, -1) : line;
  if (text.includes("\r")) text = text.split("\r").findLast((part) => part !== "") ?? "";
  return text.includes("\u001b") ? text.replace(ORDERS, "") : text;
}

function distance(at: number, first: number, last: number): number {
  return at < first ? first - at : Math.max(0, at - last);
}
