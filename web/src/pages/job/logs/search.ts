import { useRef, useState } from "react";
import { searchLog, type LogSource } from "@/api/logs";
import { asProblem, type ApiProblem } from "@/api/problem";
import { shown } from "./store";

const MOST_HITS = 2_000;
export const ERRORS = String.raw`(?i)\b(error|exception|traceback|fatal|panic|segmentation fault|out of memory|killed)\b|Error\b|Exception\b`;

/** A line that matches: its text, and in which stretch of the log it is, as the how-manieth with this text. */
export type Hit = { text: string; from: number; to: number; nth: number };

export type Search = {
  hits: Hit[];
  isRunning: boolean;
  isCut: boolean;
  /** How far the server has looked, in bytes. */
  at: number;
  problem?: ApiProblem;
};

const NOTHING: Search = { hits: [], isRunning: false, isCut: false, at: 0 };

/** Searching on the server, with what was found so far. */
export function useLogSearch(source: LogSource) {
  const [search, setSearch] = useState<Search>(NOTHING);
  const running = useRef<AbortController>(undefined);

  /** The hits; undefined when the search failed or another one took its place. */
  const run = async (pattern: string, most = MOST_HITS): Promise<Hit[] | undefined> => {
    running.current?.abort();
    const controller = new AbortController();
    running.current = controller;
    const hits: Hit[] = [];
    let at = 0;
    setSearch({ ...NOTHING, isRunning: true });
    let told = performance.now();
    try {
      await searchLog(
        source,
        pattern,
        (chunk) => {
          at = chunk.next_offset;
          addHits(hits, chunk);
          if (performance.now() - told > 150) {
            told = performance.now();
            setSearch({ hits: hits.slice(0, most), isRunning: true, isCut: false, at });
          }
          return hits.length < most;
        },
        controller.signal,
      );
      const kept = hits.slice(0, most);
      setSearch({ hits: kept, isRunning: false, isCut: hits.length >= most && most > 1, at });
      return kept;
    } catch (error) {
      if (!controller.signal.aborted) setSearch({ ...NOTHING, problem: asProblem(error) });
      return undefined;
    }
  };
  const clear = () => {
    running.current?.abort();
    setSearch(NOTHING);
  };
  return { search, run, clear };
}

type Chunk = { offset: number; next_offset: number; text: string };

function addHits(hits: Hit[], chunk: Chunk): void {
  const seen = new Map<string, number>();
  for (const line of chunk.text.replace(/\n$/, "").split("\n")) {
    const text = shown(line);
    const nth = seen.get(text) ?? 0;
    seen.set(text, nth + 1);
    hits.push({ text, from: chunk.offset, to: chunk.next_offset, nth });
  }
}

/** What to mark in the lines; undefined when the browser does not know the pattern that the server took. */
export function markerOf(pattern: string): RegExp | undefined {
  try {
    return new RegExp(pattern.replace("(?i)", ""), "gi");
  } catch {
    return undefined;
  }
}

/** A pattern that means just this text. */
export function literal(text: string): string {
  return `(?i)${text.replace(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)}`;
}
