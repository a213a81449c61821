// Logs: raw bytes by range, lines as they come, and lines that match.
import { addressOf, fetched, type Schemas } from "./client";
import { eventsOf } from "./sse";

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

const MOST_READS = 8;

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
    const query = { attempt: source.attempt, offset: at, limit: offset + size - at };
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

export function downloadAddress(source: LogSource, offset: number, limit: number): string {
  const query = { attempt: source.attempt, offset, limit };
  return addressOf("/api/v1/jobs/{job}/logs/{rank}", { job: source.job, rank: source.rank }, query);
}

/** Ask the server for the lines that match a pattern (RE2). `onChunk` returns false when it has enough. */
export async function searchLog(
  source: LogSource,
  pattern: string,
  onChunk: (chunk: LogChunk) => boolean,
  signal: AbortSignal,
): Promise<void> {
  const query = { attempt: source.attempt, rank: source.rank, grep: pattern };
  const address = addressOf("/api/v1/jobs/{job}/logs", { job: source.job }, query);
  const { body } = await fetched(address, { signal });
  if (!body) return;
  for await (const { name, data } of eventsOf(body)) {
    if (name === "log" && !onChunk(JSON.parse(data) as LogChunk)) return;
  }
}
