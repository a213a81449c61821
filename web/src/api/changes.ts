// Rows that change while a list is shown.
import { useEffect, useRef } from "react";
import { useStream, type StreamState } from "./stream";

const TOGETHER_MS = 80;

/** Id -> the row as it is now; null for one that is gone. */
export type Changes<Row> = ReadonlyMap<string, Row | null>;

/** Follow a stream of rows and hand on what changed, a few times a second; `key` is what it is about. */
export function useChanges<Row extends { id: string }>(
  key: string | undefined,
  options: {
    address: () => string;
    /** The name of the events that bring a row. */
    event: string;
    apply: (changes: Changes<Row>) => void;
    onState?: (state: StreamState) => void;
  },
): StreamState {
  const waiting = useRef(new Map<string, Row | null>());
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const flush = () => {
    timer.current = undefined;
    const changes = waiting.current;
    waiting.current = new Map();
    options.apply(changes);
  };
  useEffect(
    () => () => {
      clearTimeout(timer.current);
      timer.current = undefined;
      waiting.current = new Map();
    },
    [key],
  );
  return useStream(key, {
    address: options.address,
    onEvent: (event) => {
      if (event.name !== options.event && event.name !== "gone") return;
      const row = JSON.parse(event.data) as Row;
      waiting.current.set(row.id, event.name === "gone" ? null : row);
      timer.current ??= setTimeout(flush, TOGETHER_MS);
    },
    onState: options.onState,
  });
}
