import { useRef, useState } from "react";
import { searchLog, type LogMatch, type LogSource } from "@/api/logs";
import { asProblem, type ApiProblem } from "@/api/problem";

const MOST_HITS = 2_000;

export type Hit = LogMatch;

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
    setSearch({ ...NOTHING, isRunning: true });
    try {
      for await (const page of searchLog(source, pattern, controller.signal)) {
        hits.push(...page.items);
        const isOver = hits.length >= most || page.next_offset == null;
        setSearch({
          hits: hits.slice(0, most),
          isRunning: !isOver,
          isCut: hits.length > most || (hits.length === most && page.next_offset != null),
          at: page.offset,
        });
        if (isOver) break;
      }
      return hits.slice(0, most);
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

/** What to mark in the lines; undefined when the browser does not know the pattern that the server took. */
export function markerOf(pattern: string): RegExp | undefined {
  try {
    return new RegExp(pattern.replace("(?i)", ""), "gi");
  } catch {
    return undefined;
  }
}

/** Whether a line matches; undefined when the browser does not know the pattern. */
export function matcherOf(pattern: string): RegExp | undefined {
  try {
    return new RegExp(pattern.replace("(?i)", ""), pattern.startsWith("(?i)") ? "i" : "");
  } catch {
    return undefined;
  }
}

/** A pattern that means just this text. */
export function literal(text: string): string {
  return `(?i)${text.replace(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)}`;
}
