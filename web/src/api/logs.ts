// Logs: raw bytes by range, where lines are, lines as they come, and lines that match.
import { addressOf, api, fetched, ok, type Schemas } from "./client";

/** A piece of one rank's log, as streams tell it. */
export type LogChunk = {
  attempt: number;
  rank: number;
  offset: number;
  next_offset: number;
  text: string;
};
export type LogEnd = { attempt: number; state: Schemas["JobState"] };
export type LogSource = { job: string; attempt: number; rank: number };
/** Offset and Unix time. */
export type Mark = readonly [offset: number, at: number];
export type LogLines = Omit<Schemas["LogLines"], "marks"> & { marks: Mark[] };
export type LogMatch = Schemas["LogMatch"];
export type LogMatches = Schemas["LogMatches"];

const MOST_READS = 24;
const MOST_AT_ONCE = 8 << 20; // what the server answers with at most
const MOST_PAGES = 1_000;

/** Bytes of a log from an offset, fewer at its end. */
export async function readLog(
  source: LogSource,
  offset: number,
  size: number,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let at = offset;
  // an answer ends with the file that it was read from, so that more than one may be needed
  for (let read = 0; read < MOST_READS && at < offset + size; read++) {
    const query = {
      attempt: source.attempt,
      offset: at,
      limit: Math.min(MOST_AT_ONCE, offset + size - at),
    };
    const path = { job: source.job, rank: source.rank };
    const response = await fetched(addressOf("/api/v1/jobs/{job}/logs/{rank}", path, query), {
      signal,
    });
    const first = Number(response.headers.get("X-Danlu-Offset"));
    const bytes = new Uint8Array(await response.arrayBuffer());
    if (first > at || !bytes.length) break; // cut out of a very long log, or the end
    parts.push(bytes);
    at += bytes.length;
  }
  const [only] = parts;
  if (only && parts.length === 1) return only;
  const joined = new Uint8Array(at - offset);
  let place = 0;
  for (const part of parts) {
    joined.set(part, place);
    place += part.length;
  }
  return joined;
}

/** How many rows each piece of a log has, from the piece of an offset on; a long log in several answers. */
export async function* countLines(
  source: LogSource,
  offset: number,
  signal: AbortSignal,
): AsyncGenerator<LogLines> {
  let next: number | null | undefined = offset;
  for (let page = 0; page < MOST_PAGES && next != null; page++) {
    const found = await ok(
      api.GET("/api/v1/jobs/{job}/logs/{rank}/lines", {
        params: {
          path: { job: source.job, rank: source.rank },
          query: { attempt: source.attempt, offset: next },
        },
        signal,
      }),
    );
    const marks = found.marks as unknown as Mark[]; // a description of an API knows lists, not pairs
    const lines: LogLines = { ...found, marks };
    yield lines;
    next = lines.next_offset;
  }
}

/** Lines that match a pattern (RE2), in the order of the log. */
export async function* searchLog(
  source: LogSource,
  pattern: string,
  signal: AbortSignal,
): AsyncGenerator<LogMatches> {
  let [offset, line] = [0, 0];
  for (let page = 0; page < MOST_PAGES; page++) {
    const found = await ok(
      api.GET("/api/v1/jobs/{job}/logs/{rank}/matches", {
        params: {
          path: { job: source.job, rank: source.rank },
          query: { attempt: source.attempt, grep: pattern, offset, line },
        },
        signal,
      }),
    );
    yield found;
    if (found.next_offset == null) return;
    [offset, line] = [found.next_offset, found.line];
  }
}

/** At most so many bytes of the end of each rank's log, with the times of their lines. */
export function logEnds(
  job: string,
  attempt: number,
  ranks: readonly { rank: number; bytes: number }[],
  most: number,
  signal: AbortSignal,
) {
  return Promise.all(
    ranks.map(async ({ rank, bytes: length }) => {
      const source = { job, attempt, rank };
      const offset = Math.max(0, length - most);
      const bytes = length ? await readLog(source, offset, most, signal) : new Uint8Array();
      const { value } = await countLines(source, offset, signal).next();
      const marks = (value as LogLines | undefined)?.marks ?? [];
      return { rank, offset, bytes, marks };
    }),
  );
}

export function followAddress(source: LogSource, offset: number): string {
  return addressOf(
    "/api/v1/jobs/{job}/logs",
    { job: source.job },
    {
      attempt: source.attempt || undefined,
      rank: source.rank,
      from: `${String(source.rank)}:${String(offset)}`,
      follow: true,
    },
  );
}

export function followAllAddress(
  job: string,
  attempt: number,
  offsets: ReadonlyMap<number, number>,
): string {
  const places = [...offsets];
  return addressOf(
    "/api/v1/jobs/{job}/logs",
    { job },
    {
      attempt: attempt || undefined,
      rank: places.map(([rank]) => rank),
      from: places.map(([rank, offset]) => `${String(rank)}:${String(offset)}`),
      follow: true,
    },
  );
}

/** The last lines, and those that come. A stream that breaks begins with the last lines again. */
export function tailAddress(source: LogSource): string {
  const query = { attempt: source.attempt, rank: source.rank, follow: true, tail: 200 };
  return addressOf("/api/v1/jobs/{job}/logs", { job: source.job }, query);
}

export function downloadAddress(source: LogSource, offset: number, limit: number): string {
  const query = { attempt: source.attempt, offset, limit };
  return addressOf("/api/v1/jobs/{job}/logs/{rank}", { job: source.job, rank: source.rank }, query);
}
