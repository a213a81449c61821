// The logs of several ranks as one: the end of each, in the order in which the lines were written.
import type { LogLines } from "@/api/logs";

/** The end of one rank's log. */
export type RankEnd = { rank: number; offset: number; bytes: Uint8Array; marks: LogLines["marks"] };
/** `at` is a Unix time, to a second or so; 0 where it was not recorded. */
export type TimedLine = { rank: number; at: number; text: string };

const NEWLINE = 10;
const COLOURS = [36, 33, 35, 32, 34, 31];

/** Lines of all ranks by time. Times are samples: within one, each rank keeps its order. */
export function interleave(ends: readonly RankEnd[]): TimedLine[] {
  // equal times keep their order
  return ends.flatMap(timedLines).sort((a, b) => a.at - b.at);
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

function timedLines({ rank, offset, bytes, marks }: RankEnd): TimedLine[] {
  // the first line is cut, unless this is the whole log
  const whole = offset === 0 ? bytes : bytes.subarray(bytes.indexOf(NEWLINE) + 1);
  if (!whole.length) return [];
  const skipped = bytes.length - whole.length;
  let begin = 0; // of a line, in `whole`; there may be millions of lines
  let mark = 0;
  const texts = new TextDecoder().decode(whole).replace(/\n$/, "");
  return texts.split("\n").map((text) => {
    while (mark < marks.length - 1 && (marks[mark]?.[0] ?? 0) <= offset + skipped + begin) mark++;
    begin = whole.indexOf(NEWLINE, begin) + 1;
    return { rank, at: marks[mark]?.[1] ?? 0, text: lastWritten(text) };
  });
}

function lastWritten(line: string): string {
  if (!line.includes("\r")) return line;
  return line.split("\r").findLast((part) => part !== "") ?? "";
}
