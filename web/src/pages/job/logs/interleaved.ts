// The logs of several ranks as one: the end of each, in the order in which the lines were written.
import type { LogLines } from "@/api/logs";

/** The end of one rank's log. */
export type RankEnd = { rank: number; offset: number; bytes: Uint8Array; marks: LogLines["marks"] };
/** `at` is a Unix time, to a second or so; 0 where it was not recorded. */
export type TimedLine = { rank: number; at: number; text: string };

const COLOURS = [36, 33, 35, 32, 34, 31];

/** Lines of all ranks by time. Times are samples: within one, each rank keeps its order. */
export function interleave(ends: readonly RankEnd[]): TimedLine[] {
  const keyed = ends.flatMap(timedLines).map((line, place) => ({ line, place }));
  keyed.sort((a, b) => a.line.at - b.line.at || a.place - b.place);
  return keyed.map(({ line }) => line);
}

/** What a rank has just printed, as lines. */
export function linesOf(rank: number, at: number, text: string): TimedLine[] {
  const lines = text.replace(/\n$/, "").split("\n");
  return lines.map((line) => ({ rank, at, text: lastWritten(line) }));
}

/** A line behind its rank, and behind its time where there is a way to write it. */
export function withRank(line: TimedLine, timeOf?: (at: number) => string): string {
  const colour = String(COLOURS[line.rank % COLOURS.length]);
  const time = timeOf ? `\u001b[90m${line.at ? timeOf(line.at) : "        "}\u001b[0m  ` : "";
  const rank = `\u001b[${colour}m${String(line.rank).padStart(3)}\u001b[0m`;
  return `${time}${rank}  ${line.text}\u001b[0m\n`;
}

function timedLines(end: RankEnd): TimedLine[] {
  const text = new TextDecoder().decode(end.bytes);
  // the first line is cut, unless this is the whole log
  const whole = end.offset === 0 ? text : text.slice(text.indexOf("\n") + 1);
  if (!whole) return [];
  const lines: TimedLine[] = [];
  let offset = end.offset + end.bytes.length - new TextEncoder().encode(whole).length;
  let mark = 0;
  for (const line of whole.replace(/\n$/, "").split("\n")) {
    while (mark < end.marks.length - 1 && (end.marks[mark]?.[0] ?? 0) <= offset) mark++;
    lines.push({ rank: end.rank, at: end.marks[mark]?.[1] ?? 0, text: lastWritten(line) });
    offset += new TextEncoder().encode(line).length + 1;
  }
  return lines;
}

function lastWritten(line: string): string {
  return line.split("\r").findLast((part) => part !== "") ?? "";
}
