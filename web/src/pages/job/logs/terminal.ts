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
const FEEDS = 200; // line feeds that are written before the rows that left the screen are taken
const SCROLLBACK = 5 * FEEDS;
const NEWLINE = 10;

// eslint-disable-next-line no-control-regex -- what terminals take as orders
const ORDERS = /[\u0008\u001b]|\r(?!\n)/;

/** Whether text says anything that is not just shown. */
export function hasOrders(text: string): boolean {
  return ORDERS.test(text);
}

/** Fetch the terminal's code, which may be done before there is anything to show. */
export function loadTerminal() {
  return import("@xterm/headless");
}

/** The rows that are finished by some bytes, and the one that is not. `before` is what came right before them. */
export async function rowsOf(before: Uint8Array, bytes: Uint8Array): Promise<Row[]> {
  const { Terminal } = await loadTerminal();
  const terminal = new Terminal({
    cols: COLUMNS,
    rows: HEIGHT,
    scrollback: SCROLLBACK,
    convertEol: true,
    allowProposedApi: true,
  });
  const links = watchLinks(terminal);
  const rows: Row[] = [];
  try {
    const flush = () => {
      const { baseY: leaving, cursorX } = terminal.buffer.active;
      // forgetting them moves a cursor that stands behind a full row onto its last letter, which would be overwritten
      const isBehind = cursorX === COLUMNS && leaving < SCROLLBACK - FEEDS;
      if (leaving === 0 || isBehind) return;
      takeRows(terminal, leaving, links, rows);
      links.scrolled += leaving;
      terminal.options.scrollback = 0; // forgets them; taking lines from the top of the screen takes ten times as long
      terminal.options.scrollback = SCROLLBACK;
    };
    for (const part of parts(before)) {
      await write(terminal, part);
      flush();
    }
    const at = cursorRow(terminal);
    const isWrapped = (row: number) => terminal.buffer.active.getLine(row)?.isWrapped ?? false;
    // a line that began above the screen goes on in its first row
    rows.splice(0, isWrapped(0) ? rows.length - 1 : rows.length);
    // rows of `before` that are still on the screen are not ours, except the one that goes on
    const strange = rows.length + logical(terminal, at) - (isWrapped(at) ? 1 : 0);
    for (const part of parts(bytes)) {
      await write(terminal, part);
      flush();
    }
    takeRows(terminal, cursorRow(terminal) + 1, links, rows);
    return rows.slice(strange);
  } finally {
    terminal.dispose();
  }
}

function cursorRow({ buffer: { active } }: Terminal): number {
  return active.baseY + active.cursorY;
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
    // a text without line feeds fills rows too; not to their ends, so that few pieces end with a full row
    if (bytes[at] === NEWLINE || (at - begin) % COLUMNS === COLUMNS - 2) feeds++;
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

type Link = { column: number; address: string };
/** `scrolled`: how many rows were taken before those that the terminal has. */
type Links = { changes: Map<number, Link[]>; scrolled: number };
const NO_LINKS: readonly Link[] = [];

/** OSC 8: from here on text leads to an address, or no longer does. */
function watchLinks(terminal: Terminal): Links {
  const links: Links = { changes: new Map(), scrolled: 0 };
  terminal.parser.registerOscHandler(8, (data) => {
    const address = data.slice(data.indexOf(";") + 1);
    const { cursorX, cursorY, baseY } = terminal.buffer.active;
    const row = links.scrolled + baseY + cursorY;
    const change = { column: cursorX, address: /^https?:\/\//i.test(address) ? address : "" };
    const changes = links.changes.get(row);
    if (changes) changes.push(change);
    else links.changes.set(row, [change]);
    return true;
  });
  return links;
}

function takeRows(terminal: Terminal, count: number, links: Links, into: Row[]): void {
  const buffer = terminal.buffer.active;
  const cell = buffer.getNullCell();
  for (let at = 0; at < count; at++) {
    const line = buffer.getLine(at);
    if (!line) continue;
    const spans = spansOf(line, cell, links.changes.get(links.scrolled + at) ?? NO_LINKS);
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
  let [fore, back, flags, link] = [0, 0, 0, ""];
  let nextLink = "";
  for (let column = 0, taken = 0; taken < length && column < line.length; column++) {
    if (links.length) nextLink = linkAt(links, column) ?? nextLink;
    const found = line.getCell(column, cell);
    if (!found || found.getWidth() === 0) continue;
    const chars = found.getChars() || " ";
    taken += chars.length;
    // a piece of a log has half a million cells: nothing is made for one that looks like the cell before it
    const isPlain = found.isAttributeDefault();
    const nextFore = isPlain ? 0 : found.getFgColorMode() + found.getFgColor();
    const nextBack = isPlain ? 0 : found.getBgColorMode() + found.getBgColor();
    const nextFlags = isPlain ? 0 : flagsOf(found);
    const isSame =
      nextFore === fore && nextBack === back && nextFlags === flags && nextLink === link;
    if (last && isSame) {
      last.text += chars;
      continue;
    }
    last = { ...styleOf(found, nextLink), text: chars };
    spans.push(last);
    fore = nextFore;
    back = nextBack;
    flags = nextFlags;
    link = nextLink;
  }
  return spans;
}

function linkAt(links: readonly Link[], column: number): string | undefined {
  return links.findLast((one) => one.column === column)?.address;
}

/** How a cell's text is set, in one number. */
function flagsOf(cell: IBufferCell): number {
  return (
    (cell.isBold() ? 1 : 0) +
    (cell.isItalic() ? 2 : 0) +
    (cell.isDim() ? 4 : 0) +
    (cell.isUnderline() ? 8 : 0) +
    (cell.isInverse() ? 16 : 0)
  );
}

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
