import {
  useCallback,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
  useSyncExternalStore,
} from "react";
import type { LogStore } from "./store";
import styles from "./logs.module.css";

export const LINE_PX = 19;
const AROUND = 20;

/** A place to go to; `at` makes the same line asked for twice two wishes. */
export type Target = { line: number; at: number };

/** The lines in sight of a log that may have millions. */
export function LogView(props: {
  store: LogStore;
  label: string;
  isFollowing: boolean;
  onFollow: (isFollowing: boolean) => void;
  target: Target | undefined;
  words: RegExp | undefined;
}) {
  const { store, isFollowing, onFollow, target } = props;
  const version = useSyncExternalStore(store.subscribe, store.getVersion);
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 600 });
  const anchor = useRef<{ piece: number; index: number; rest: number }>(undefined);
  const frame = useRef(0);

  const look = useCallback(() => {
    frame.current = 0;
    const element = box.current;
    if (!element) return;
    setView({ top: element.scrollTop, height: element.clientHeight });
    const line = Math.floor(element.scrollTop / LINE_PX);
    anchor.current = { ...store.placeOf(line), rest: element.scrollTop - line * LINE_PX };
  }, [store]);

  useEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const observer = new ResizeObserver(look);
    observer.observe(element);
    return () => {
      observer.disconnect();
      cancelAnimationFrame(frame.current);
      frame.current = 0;
    };
  }, [look]);

  const first = Math.max(0, Math.floor(view.top / LINE_PX) - AROUND);
  const count = Math.ceil(view.height / LINE_PX) + 2 * AROUND;
  const numLines = store.numLines;
  const last = Math.min(numLines, first + count);

  useEffect(() => {
    store.want(store.placeOf(first).piece, store.placeOf(Math.max(first, last - 1)).piece);
  }, [store, first, last, version]);

  // guesses become counts: what is in sight stays where it is
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    if (isFollowing) {
      element.scrollTop = element.scrollHeight;
      return;
    }
    const kept = anchor.current;
    if (!kept) return;
    const top = (store.firstLine(kept.piece) + kept.index) * LINE_PX + kept.rest;
    if (Math.abs(top - element.scrollTop) > LINE_PX) element.scrollTop = top;
  }, [version, store, isFollowing]);

  useLayoutEffect(() => {
    const element = box.current;
    if (!element || !target) return;
    element.scrollTop = Math.max(0, target.line * LINE_PX - element.clientHeight / 3);
    element.scrollLeft = 0;
    look();
  }, [target, look]);

  const rows = [];
  let place = store.placeOf(first);
  let isCounted = store.isCounted(place.piece);
  for (let line = first; line < last; line++) {
    const found = store.lineAt(place);
    rows.push(
      <div
        key={line}
        className={
          target?.line === line ? `${styles.line ?? ""} ${styles.target ?? ""}` : styles.line
        }
        style={{ top: line * LINE_PX }}
      >
        <span className={styles.number} aria-hidden="true">
          {isCounted ? line + 1 : ""}
        </span>
        {found ? (
          <Marked text={found.text} words={props.words} />
        ) : (
          <span className={styles.wait} />
        )}
      </div>,
    );
    const next = store.placeOf(line + 1);
    if (next.piece !== place.piece) isCounted = store.isCounted(next.piece);
    place = next;
  }
  return (
    <div
      ref={box}
      className={styles.box}
      tabIndex={0}
      role="region"
      aria-label={props.label}
      onScroll={(event) => {
        const element = event.currentTarget;
        const isAtEnd = element.scrollTop + element.clientHeight >= element.scrollHeight - LINE_PX;
        if (isFollowing && !isAtEnd && element.scrollTop < view.top - LINE_PX) onFollow(false);
        if (!frame.current) frame.current = requestAnimationFrame(look);
      }}
    >
      <div className={styles.all} style={{ height: numLines * LINE_PX }}>
        {rows}
      </div>
    </div>
  );
}

/** A line as text, with what was searched for marked. */
function Marked(props: { text: string; words: RegExp | undefined }) {
  const { text, words } = props;
  if (!words)
    return (
      <span className={styles.text} data-lines>
        {text}
      </span>
    );
  const parts = [];
  let at = 0;
  for (const found of text.matchAll(words)) {
    if (!found[0]) break;
    parts.push(
      text.slice(at, found.index),
      <mark key={found.index} data-lines>
        {found[0]}
      </mark>,
    );
    at = found.index + found[0].length;
  }
  parts.push(text.slice(at));
  return (
    <span className={styles.text} data-lines>
      {parts}
    </span>
  );
}
