// What a terminal makes of bytes: returns, backspaces, cursor moves, colours and links, as rows of text with styles.
// The terminal is xterm.js without a screen; it is loaded with the first log that needs it.
import type { IBufferCell, Terminal } from "@xterm/headless";

/** Colours: a number is one of the 256 of a palette, a text is #rrggbb. */
export type Style = {
  color?: number | string;
  background?: number | string;
  isBold?: boolean;
  isItalic?: boolean;
  isDim?: boolean;
  isUnderlined?: boolean;
  link?: string;
};
export type Span = Style & { text: string };
export type Row = { text: string; spans?: readonly Span[] };

const COLUMNS = 512;
const HEIGHT = 512;
const KEPT = 256; // rows above the cursor that may still be written over
const FEEDS = 200; // line feeds that are written before rows are taken from the top
const NEWLINE = 10;

// eslint-disable-next-line no-control-regex -- what terminals take as orders
const ORDERS = /[\u0008\u001b]|\r(?!\n)/;

/** Whether text says anything that is not just shown. */
export function hasOrders(text: string): boolean {
  return ORDERS.test(text);
}

/** The rows that are finished by some bytes, and the one that is not. `before` is what came right before them. */
export async function rowsOf(before: Uint8Array, bytes: Uint8Array): Promise<Row[]> {
  const { Terminal } = await import("@xterm/headless");
  const terminal = new Terminal({
    cols: COLUMNS,
    rows: HEIGHT,
    scrollback: 0,
    convertEol: true,
    allowProposedApi: true,
  });
  const links = watchLinks(terminal);
  const rows: Row[] = [];
  try {
    let first = 0; // of the rows on the screen, counted from the beginning of `before`
    const flush = async (keep: number) => {
      const buffer = terminal.buffer.active;
      const leaving = buffer.cursorY - keep;
      if (leaving <= 0) return;
      takeRows(terminal, leaving, first, links, rows);
      first += leaving;
      links.scrolled = first;
      await write(terminal, `\u001b[${String(leaving)}S\u001b[${String(leaving)}A`);
    };
    for (const part of parts(before)) {
      await write(terminal, part);
      await flush(KEPT);
    }
    rows.length = 0;
    // rows of `before` that are still on the screen are not ours, except the one that goes on
    const { cursorY } = terminal.buffer.active;
    const isBegun = terminal.buffer.active.getLine(cursorY)?.isWrapped ?? false;
    const strange = logical(terminal, cursorY) - (isBegun ? 1 : 0);
    for (const part of parts(bytes)) {
      await write(terminal, part);
      await flush(KEPT);
    }
    takeRows(terminal, terminal.buffer.active.cursorY + 1, first, links, rows);
    return rows.slice(strange);
  } finally {
    terminal.dispose();
  }
}

/** How many rows of text the first rows of the screen are: a long text has several. */
function logical(terminal: Terminal, count: number): number {
  let found = 0;
  for (let at = 0; at < count; at++) if (!terminal.buffer.active.getLine(at)?.isWrapped) found++;
  return found;
}

/** Pieces with few enough lines that none leaves the screen before it was taken. */
function* parts(bytes: Uint8Array): Generator<Uint8Array> {
  let begin = 0;
  let feeds = 0;
  for (let at = 0; at < bytes.length; at++) {
    // a text without line feeds fills rows too
    if (bytes[at] === NEWLINE || (at - begin) % COLUMNS === COLUMNS - 1) feeds++;
    if (feeds < FEEDS) continue;
    yield bytes.subarray(begin, at + 1);
    begin = at + 1;
    feeds = 0;
  }
  if (begin < bytes.length) yield bytes.subarray(begin);
}

function write(terminal: Terminal, data: Uint8Array | string): Promise<void> {
  return new Promise((resolve) => {
    terminal.write(data, resolve);
  });
}

type Link = { row: number; column: number; address: string };
type Links = { changes: Link[]; scrolled: number };

/** OSC 8: from here on text leads to an address, or no longer does. */
function watchLinks(terminal: Terminal): Links {
  const links: Links = { changes: [], scrolled: 0 };
  terminal.parser.registerOscHandler(8, (data) => {
    const address = data.slice(data.indexOf(";") + 1);
    const { cursorX, cursorY } = terminal.buffer.active;
    links.changes.push({
      row: links.scrolled + cursorY,
      column: cursorX,
      address: /^https?:\/\//i.test(address) ? address : "",
    });
    return true;
  });
  return links;
}

function takeRows(
  terminal: Terminal,
  count: number,
  first: number,
  links: Links,
  into: Row[],
): void {
  const buffer = terminal.buffer.active;
  const cell = buffer.getNullCell();
  for (let at = 0; at < count; at++) {
    const line = buffer.getLine(at);
    if (!line) continue;
    const spans = spansOf(
      line,
      cell,
      links.changes.filter((one) => one.row === first + at),
    );
    const before = into.at(-1);
    if (line.isWrapped && before) into[into.length - 1] = joined(before, spans);
    else into.push(rowOf(spans));
  }
}

type Buffer = Terminal["buffer"]["active"];

/** A row of a terminal's buffer as it is, with styles and without links. */
export function rowAt(buffer: Buffer, at: number): Row {
  const line = buffer.getLine(at);
  return line ? rowOf(spansOf(line, buffer.getNullCell(), [])) : { text: "" };
}

type BufferLine = NonNullable<ReturnType<Terminal["buffer"]["active"]["getLine"]>>;

function spansOf(line: BufferLine, cell: IBufferCell, links: readonly Link[]): Span[] {
  const length = line.translateToString(true).length;
  const spans: Span[] = [];
  let last: Span | undefined;
  let key = "";
  let link = "";
  for (let column = 0, taken = 0; taken < length && column < line.length; column++) {
    link = links.findLast((one) => one.column === column)?.address ?? link;
    const found = line.getCell(column, cell);
    if (!found || found.getWidth() === 0) continue;
    const chars = found.getChars() || " ";
    taken += chars.length;
    const style = found.isAttributeDefault() && !link ? PLAIN : styleOf(found, link);
    const next = style === PLAIN ? "" : JSON.stringify(style);
    if (last && next === key) last.text += chars;
    else {
      last = { ...style, text: chars };
      key = next;
      spans.push(last);
    }
  }
  return spans;
}

const PLAIN: Style = {};

function styleOf(cell: IBufferCell, link: string): Style {
  const fore = colorOf(cell.isFgRGB(), cell.isFgPalette(), cell.getFgColor());
  const back = colorOf(cell.isBgRGB(), cell.isBgPalette(), cell.getBgColor());
  const [color, background] = cell.isInverse() ? [back, fore] : [fore, back];
  return {
    ...(color !== undefined && { color }),
    ...(background !== undefined && { background }),
    ...(cell.isBold() && { isBold: true }),
    ...(cell.isItalic() && { isItalic: true }),
    ...(cell.isDim() && { isDim: true }),
    ...(cell.isUnderline() && { isUnderlined: true }),
    ...(link && { link }),
  };
}

function colorOf(isRgb: boolean, isPalette: boolean, value: number): number | string | undefined {
  if (isRgb) return `#${value.toString(16).padStart(6, "0")}`;
  return isPalette ? value : undefined;
}

function rowOf(spans: readonly Span[]): Row {
  const text = spans.map((span) => span.text).join("");
  const isPlain = spans.every((span) => Object.keys(span).length === 1);
  return isPlain ? { text } : { text, spans };
}

function joined(before: Row, spans: readonly Span[]): Row {
  return rowOf([...(before.spans ?? [{ text: before.text }]), ...spans]);
}
