// A log of any length, of which only pieces are here. The log is cut into pieces of equal size; a line belongs to the
// piece in which it ends, the last one to the last piece. How many lines a piece has, the server counts; before that
// answer is here, it is guessed.
import type { Mark } from "@/api/logs";
import { hasOrders, rowsOf, type Row } from "./terminal";

export const PIECE_BYTES = 256 << 10;
const BEFORE_BYTES = 64 << 10; // what a line that ends in a piece may have before it, and how far rows are redrawn
const MOST_PIECES = 64;
const FIRST_GUESS = 80; // bytes per line
const AGAIN_MS = 3_000;
const NEWLINE = 10;

export type ReadRange = (offset: number, size: number, signal: AbortSignal) => Promise<Uint8Array>;
export type Line = Row & { offset: number };
export type Place = { piece: number; index: number };

type Piece = { before: Uint8Array; bytes: Uint8Array; rows: Row[]; ends: number[] };

export class LogStore {
  private readonly pieces = new Map<number, Piece>();
  private readonly fetching = new Map<
    number,
    { controller: AbortController; done: Promise<void> }
  >();
  private readonly sought = new Set<number>(); // fetched for `find` until it is here, wherever is being looked
  private readonly failed = new Set<number>();
  /** Why the last piece that was asked for did not come; undefined when it did. */
  problem: unknown;
  private readonly counts = new Map<number, number>();
  private firsts: number[] | undefined;
  private numCounted = 0; // pieces from the first on whose rows are known; as old as `firsts`
  /** Whether the server is still to say more about rows. */
  private isCounting = false;
  private marks: Mark[] = [];
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
    for (const { controller } of this.fetching.values()) controller.abort();
    this.fetching.clear();
  }

  get numPieces(): number {
    return Math.max(1, Math.ceil(this.total / PIECE_BYTES));
  }

  /** Lines in all, guessed where the server has not counted yet. */
  get numLines(): number {
    return this.firstLine(this.numPieces);
  }

  get isCounted(): boolean {
    return this.isCountedTo(this.numPieces);
  }

  /** Whether all pieces before this one are counted, so that lines in it have numbers. */
  isCountedTo(piece: number): boolean {
    this.firsts ??= this.sums();
    return piece <= this.numCounted;
  }

  /** Whether it is known where a line is, or nobody will say it. */
  isPlaced(line: number): boolean {
    return !this.isCounting || this.isCountedTo(this.placeOf(line).piece);
  }

  /** The server begins to say how many rows each piece has. */
  beginCounting(): void {
    this.isCounting = true;
  }

  /** Nothing more will be said about rows. */
  endCounting(): void {
    this.isCounting = false;
    this.changed();
  }

  /** What the server says of pieces: how many rows each has, and when they were written. */
  tell(offset: number, rows: readonly number[], marks: readonly Mark[]): void {
    const first = Math.round(offset / PIECE_BYTES);
    for (const [index, count] of rows.entries()) {
      const isLast = first + index >= this.numPieces - 1;
      if (!isLast && !this.pieces.has(first + index)) this.counts.set(first + index, count);
    }
    const known = this.marks.at(-1)?.[0] ?? -1;
    for (const mark of marks) if (mark[0] > known) this.marks.push(mark);
    this.changed();
  }

  /** When the line at an offset was written, to the second or so; undefined where it was not recorded. */
  timeAt(offset: number): number | undefined {
    let [low, high] = [0, this.marks.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.marks[middle]?.[0] ?? 0) <= offset) low = middle + 1;
      else high = middle;
    }
    return (this.marks[low] ?? this.marks.at(-1))?.[1];
  }

  /** The number of the first line of a piece. */
  firstLine(piece: number): number {
    this.firsts ??= this.sums();
    return this.firsts[Math.min(piece, this.numPieces)] ?? 0;
  }

  /** Which piece a line is in, and where. */
  placeOf(line: number): Place {
    this.firsts ??= this.sums();
    let [low, high] = [0, this.numPieces - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.firsts[middle] ?? 0) <= line) low = middle;
      else high = middle - 1;
    }
    return { piece: low, index: Math.max(0, line - (this.firsts[low] ?? 0)) };
  }

  /** A line, or undefined while it is being fetched. */
  lineAt(place: Place): Line | undefined {
    const piece = this.pieces.get(place.piece);
    const row = piece?.rows[place.index];
    if (piece === undefined || row === undefined) return undefined;
    const offset = place.index ? (piece.ends[place.index - 1] ?? 0) : 0;
    return { ...row, offset: place.piece * PIECE_BYTES + offset };
  }

  has(piece: number): boolean {
    return this.pieces.has(piece);
  }

  /** Fetch the pieces from one to another, and forget those far from them. */
  want(first: number, last: number): void {
    const wanted = new Set(this.sought);
    for (let at = Math.max(0, first); at <= Math.min(last, this.numPieces - 1); at++)
      wanted.add(at);
    for (const at of wanted) {
      const held = this.pieces.get(at);
      if (this.fetching.has(at) || this.failed.has(at)) continue;
      if (held && held.bytes.length >= Math.min(PIECE_BYTES, this.total - at * PIECE_BYTES))
        continue;
      void this.fetch(at);
    }
    for (const [at, { controller }] of this.fetching) {
      if (!this.sought.has(at) && (at < first - 2 || at > last + 2)) controller.abort();
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
    const at = Math.floor(offset / PIECE_BYTES);
    const held = this.pieces.get(at);
    this.total = end;
    this.firsts = undefined;
    const isNext =
      held !== undefined &&
      bytes?.length === end - offset &&
      at * PIECE_BYTES + held.bytes.length === offset &&
      end <= (at + 1) * PIECE_BYTES;
    if (isNext) {
      const joined = new Uint8Array(held.bytes.length + bytes.length);
      joined.set(held.bytes);
      joined.set(bytes, held.bytes.length);
      void this.put(at, held.before, joined);
    } else if (held) {
      void this.fetch(at);
    }
    this.changed();
  }

  /** Fetch what is needed to show the line that has this byte, and say which one it is. */
  async find(offset: number): Promise<number> {
    let at = Math.min(Math.floor(offset / PIECE_BYTES), this.numPieces - 1);
    if (!this.pieces.has(at)) {
      this.sought.add(at);
      const running = this.fetching.get(at);
      await (running?.controller.signal.aborted === false ? running.done : this.fetch(at));
    }
    const within = offset - at * PIECE_BYTES;
    const ends = this.pieces.get(at)?.ends ?? [];
    let index = ends.findIndex((end) => end > within);
    if (index < 0 && at < this.numPieces - 1) {
      at += 1; // it ends in a later piece
      index = 0;
    }
    return this.firstLine(at) + Math.max(0, index < 0 ? ends.length : index);
  }

  private sums(): number[] {
    const firsts = [0];
    let sum = 0;
    let debt = 0; // rows that a piece takes back from those before it
    this.numCounted = 0;
    for (let at = 0; at < this.numPieces; at++) {
      if (this.numCounted === at && this.counts.has(at)) this.numCounted++;
      const count = this.count(at) + debt;
      debt = Math.min(0, count);
      sum += Math.max(0, count);
      firsts.push(sum);
    }
    return firsts;
  }

  private count(piece: number): number {
    const known = this.counts.get(piece);
    if (known !== undefined) return known;
    const size = Math.min(PIECE_BYTES, this.total - piece * PIECE_BYTES);
    return Math.max(0, Math.ceil(size / this.bytesPerLine));
  }

  private fetch(at: number): Promise<void> {
    const controller = new AbortController();
    const done = this.load(at, controller);
    this.fetching.set(at, { controller, done });
    return done;
  }

  private async load(at: number, controller: AbortController): Promise<void> {
    try {
      const first = at * PIECE_BYTES;
      const before = Math.min(first, BEFORE_BYTES);
      const size = Math.min(PIECE_BYTES, this.total - first);
      const found = await this.read(first - before, before + size, controller.signal);
      if (!controller.signal.aborted) {
        await this.put(at, found.subarray(0, before), found.subarray(before));
        this.problem = undefined;
      }
    } catch (error) {
      if (!controller.signal.aborted) {
        this.failed.add(at);
        this.problem = error;
        setTimeout(this.retry, AGAIN_MS);
      }
    } finally {
      if (this.fetching.get(at)?.controller === controller) this.fetching.delete(at);
      this.changed();
    }
  }

  private async put(at: number, before: Uint8Array, bytes: Uint8Array): Promise<void> {
    const all = await rowsIn(before, bytes);
    this.sought.delete(at);
    const isLast = at === this.numPieces - 1;
    const isOpen = isLast && (all.at(-1)?.text ?? "") !== "";
    const rows = isOpen ? all : all.slice(0, -1);
    this.pieces.set(at, { before, bytes, rows, ends: endsIn(bytes, rows.length) });
    this.counts.set(at, rows.length);
    const numLines = [...this.counts.values()].reduce((sum, count) => sum + count, 0);
    const numBytes = Math.min(this.counts.size * PIECE_BYTES, this.total);
    if (numLines) this.bytesPerLine = numBytes / numLines;
    this.changed();
  }

  private changed(): void {
    this.firsts = undefined;
    this.version++;
    for (const listener of this.listeners) listener();
  }
}

/** The rows that end in some bytes, and the beginning of the next one at the end. */
export async function rowsIn(before: Uint8Array, bytes: Uint8Array): Promise<Row[]> {
  // of what came before, the unfinished line counts, and all of it where rows are drawn over
  const cut = before.lastIndexOf(NEWLINE) + 1;
  const decoder = new TextDecoder();
  const open = decoder.decode(before.subarray(cut), { stream: true });
  const text = decoder.decode(bytes);
  if (!hasOrders(text) && !hasOrders(open))
    return (open + text).split("\n").map((line) => ({ text: withoutReturn(line) }));
  return rowsOf(text.includes("\u001b[") ? before : before.subarray(cut), bytes);
}

function withoutReturn(line: string): string {
  return line.endsWith("\r") ? line.slice(0, -1) : line;
}

/** Where rows end, counted from the first byte. Rows that were drawn over end with the last line feeds. */
function endsIn(bytes: Uint8Array, count: number): number[] {
  const ends: number[] = [];
  for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1))
    ends.push(at + 1);
  if (ends.length < count) ends.push(bytes.length);
  return ends.slice(-count || ends.length);
}

function distance(at: number, first: number, last: number): number {
  return at < first ? first - at : Math.max(0, at - last);
}
