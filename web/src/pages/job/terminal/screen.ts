// The screen of a shell: xterm.js without a page keeps it, the page shows its rows.
import type { Terminal } from "@xterm/headless";
import { rowAt, type Row } from "../logs/terminal";

const SCROLLBACK = 500;
const REDRAW_MS = 30;

export type Shown = { rows: readonly Row[]; cursor: { row: number; column: number } | undefined };
const NOTHING: Shown = { rows: [], cursor: undefined };

export class Screen {
  private shown: Shown = NOTHING;
  private known: { text: string; row: Row }[] = [];
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly listeners = new Set<() => void>();

  private constructor(private readonly terminal: Terminal) {}

  static async open(size: { rows: number; columns: number }, answer: (data: string) => void) {
    const { Terminal } = await import("@xterm/headless");
    const terminal = new Terminal({
      cols: size.columns,
      rows: size.rows,
      scrollback: SCROLLBACK,
      allowProposedApi: true,
    });
    terminal.onData(answer); // some programs ask where the cursor is
    return new Screen(terminal);
  }

  /** Whether arrow keys are sent as full-screen programs want them. */
  get isApplication(): boolean {
    return this.terminal.modes.applicationCursorKeysMode;
  }

  get isBracketed(): boolean {
    return this.terminal.modes.bracketedPasteMode;
  }

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => {
      this.listeners.delete(listener);
    };
  };

  getShown = (): Shown => this.shown;

  write(bytes: Uint8Array): void {
    this.terminal.write(bytes, () => {
      this.timer ??= setTimeout(this.redraw, REDRAW_MS);
    });
  }

  resize(size: { rows: number; columns: number }): void {
    this.terminal.resize(size.columns, size.rows);
    this.redraw();
  }

  close(): void {
    clearTimeout(this.timer);
    this.listeners.clear();
    this.terminal.dispose();
  }

  private redraw = (): void => {
    this.timer = undefined;
    const buffer = this.terminal.buffer.active;
    const rows = Array.from({ length: buffer.length }, (_, at) => this.same(at, rowAt(buffer, at)));
    const row = buffer.baseY + buffer.cursorY;
    this.known.length = rows.length;
    this.shown = { rows, cursor: { row, column: buffer.cursorX } };
    for (const listener of this.listeners) listener();
  };

  /** The row that was there before if it says the same, so that it is not drawn again. */
  private same(at: number, row: Row): Row {
    const text = JSON.stringify(row);
    const known = this.known[at];
    if (known?.text === text) return known.row;
    this.known[at] = { text, row };
    return row;
  }
}
