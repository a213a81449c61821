// The logs of several ranks as one: the end of each, in the order in which the lines were written.
import type { LogLines } from "@/api/logs";

/** The end of one rank's log. */
export type RankEnd = { rank: number; offset: number; bytes: Uint8Array; marks: LogLines["marks"] };
type Timed = { rank: number; at: number; text: string };

const COLOURS = [36, 33, 35, 32, 34, 31];

/** Lines of all ranks by time, each behind its rank. Times are samples: within one, each rank keeps its order. */
export function interleave(ends: readonly RankEnd[]): string {
  const lines = ends.flatMap(timedLines);
  const keyed = lines.map((line, place) => ({ line, place }));
  keyed.sort((a, b) => a.line.at - b.line.at || a.place - b.place);
  return keyed.map(({ line }) => withRank(line.rank, line.text)).join("");
}

/** Text of one rank, each line behind its rank. */
export function withRank(rank: number, text: string): string {
  const colour = String(COLOURS[rank % COLOURS.length]);
  return text
    .replace(/\n$/, "")
    .split("\n")
    .map(
      (line) =>
        `\u001b[${colour}m${String(rank).padStart(3)}\u001b[0m  ${lastWritten(line)}\u001b[0m\n`,
    )
    .join("");
}

function timedLines(end: RankEnd): Timed[] {
  const text = new TextDecoder().decode(end.bytes);
  // the first line is cut, unless this is the whole log
  const whole = end.offset === 0 ? text : text.slice(text.indexOf("\n") + 1);
  const lines: Timed[] = [];
  let offset = end.offset + end.bytes.length - new TextEncoder().encode(whole).length;
  let mark = 0;
  for (const line of whole.replace(/\n$/, "").split("\n")) {
    while (mark < end.marks.length - 1 && (end.marks[mark]?.[0] ?? 0) <= offset) mark++;
    lines.push({ rank: end.rank, at: end.marks[mark]?.[1] ?? 0, text: line });
    offset += new TextEncoder().encode(line).length + 1;
  }
  return lines;
}

function lastWritten(line: string): string {
  return line.split("\r").findLast((part) => part !== "") ?? "";
}
