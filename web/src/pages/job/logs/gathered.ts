import { withRank, type TimedLine } from "./interleaved";
import { Memory } from "./memory";
import { matcherOf } from "./search";

/** Lines of all ranks, those that are looked for shown as a log. */
export class Gathered {
  private readonly lines: TimedLine[];
  private shown: { memory: Memory; write: (lines: readonly TimedLine[]) => string } | undefined;

  constructor(lines: readonly TimedLine[]) {
    this.lines = [...lines];
  }

  /** A log of the lines that match, and of those that come. */
  show(pattern: string | undefined, timeOf: ((at: number) => string) | undefined): Memory {
    const matcher = pattern ? matcherOf(pattern) : undefined;
    const write = (lines: readonly TimedLine[]) =>
      lines
        .filter((line) => matcher?.test(line.text) ?? true)
        .map((line) => withRank(line, timeOf))
        .join("");
    const memory = new Memory(write(this.lines));
    this.shown = { memory, write };
    return memory;
  }

  add(lines: readonly TimedLine[]): void {
    for (const line of lines) this.lines.push(line); // more than a call may have arguments
    const text = this.shown?.write(lines);
    if (text) this.shown?.memory.add(text);
  }
}
