// Rows on the page: one per line, or as many as a long line needs when it is wrapped.
import type { Line, LogStore, Place } from "./store";
import type { Span } from "./terminal";

/** A row in sight. `number` is that of its line, counted from 0; a continuation has none. */
export type Shown = Line & { number: number | undefined };

export class Layout {
  private readonly starts = new Map<number, { count: number; rows: number[] }>();
  private firsts: number[] | undefined;
  private version = -1;

  /** `columns`: how many characters fit; undefined when lines are not wrapped. */
  constructor(
    private readonly store: LogStore,
    private readonly columns: number | undefined,
  ) {}

  get numRows(): number {
    return this.columns === undefined ? this.store.numLines : (this.sums().at(-1) ?? 0);
  }

  /** The number of the first row of a piece. */
  firstRow(piece: number): number {
    if (this.columns === undefined) return this.store.firstLine(piece);
    return this.sums()[Math.min(piece, this.store.numPieces)] ?? 0;
  }

  placeOf(row: number): Place {
    if (this.columns === undefined) return this.store.placeOf(row);
    const firsts = this.sums();
    let [low, high] = [0, this.store.numPieces - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((firsts[middle] ?? 0) <= row) low = middle;
      else high = middle - 1;
    }
    return { piece: low, index: Math.max(0, row - (firsts[low] ?? 0)) };
  }

  /** The row that a line begins with. */
  rowOf(line: number): number {
    if (this.columns === undefined) return line;
    const { piece, index } = this.store.placeOf(line);
    return this.firstRow(piece) + (this.rowsOf(piece)?.[index] ?? index);
  }

  rowAt(place: Place): Shown | undefined {
    const rows = this.columns === undefined ? undefined : this.rowsOf(place.piece);
    const index = rows
      ? Math.max(
          0,
          rows.findLastIndex((start) => start <= place.index),
        )
      : place.index;
    const line = this.store.lineAt({ piece: place.piece, index });
    if (!line) return undefined;
    const number = this.store.isCountedTo(place.piece)
      ? this.store.firstLine(place.piece) + index
      : undefined;
    const part = place.index - (rows?.[index] ?? place.index);
    if (this.columns === undefined || (part === 0 && line.text.length <= this.columns))
      return { ...line, number };
    return { ...partOf(line, part, this.columns), number: part === 0 ? number : undefined };
  }

  /** Where the lines of a piece begin, in rows; undefined when the piece is not here. */
  private rowsOf(piece: number): number[] | undefined {
    const count = this.store.firstLine(piece + 1) - this.store.firstLine(piece);
    if (!this.store.has(piece)) return undefined;
    const known = this.starts.get(piece);
    if (known?.count === count) return known.rows;
    const rows: number[] = [];
    let at = 0;
    for (let index = 0; index < count; index++) {
      rows.push(at);
      const length = this.store.lineAt({ piece, index })?.text.length ?? 0;
      at += Math.max(1, Math.ceil(length / (this.columns ?? Infinity)));
    }
    rows.push(at);
    this.starts.set(piece, { count, rows });
    return rows;
  }

  private sums(): number[] {
    if (this.firsts && this.version === this.store.version) return this.firsts;
    const firsts = [0];
    let sum = 0;
    for (let piece = 0; piece < this.store.numPieces; piece++) {
      const lines = this.store.firstLine(piece + 1) - this.store.firstLine(piece);
      sum += this.rowsOf(piece)?.at(-1) ?? lines;
      firsts.push(sum);
    }
    this.version = this.store.version;
    this.firsts = firsts;
    return firsts;
  }
}

function partOf(line: Line, part: number, columns: number): Line {
  const [from, to] = [part * columns, (part + 1) * columns];
  const text = line.text.slice(from, to);
  if (!line.spans) return { text, offset: line.offset };
  const spans: Span[] = [];
  let at = 0;
  for (const span of line.spans) {
    const cut = span.text.slice(Math.max(0, from - at), Math.max(0, to - at));
    if (cut && at < to) spans.push({ ...span, text: cut });
    at += span.text.length;
  }
  return { text, spans, offset: line.offset };
}
