import {
  useCallback,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
} from "react";
import { timeOfDay } from "@/parts/time";
import { useLocale } from "@/texts/language";
import { Layout } from "./layout";
import { LogLine } from "./LogLine";
import styles from "./logs.module.css";
import { positionOf, realHeight, scrolledTo, type Position } from "./scroll";
import type { LogStore } from "./store";

export const LINE_PX = 19;
const AROUND = 20;
const GUTTER_PX = 100;
const TIME_PX = 100;
const CHARACTER_PX = 7.5;
const STILL_MS = 120;

/** A place to go to; `at` makes the same line asked for twice two wishes. */
export type Target = { line: number; at: number };
export type LogLook = { isWrapped: boolean; hasTimes: boolean };

/** The lines in sight of a log that may have millions. */
export function LogView(props: {
  store: LogStore;
  label: string;
  look?: LogLook;
  isFollowing: boolean;
  onFollow: (isFollowing: boolean) => void;
  target: Target | undefined;
  words: RegExp | undefined;
  /** What a click on the number of a line does. */
  onNumber?: (line: number) => void;
}) {
  const { store, isFollowing, onFollow, target, look } = props;
  const version = useSyncExternalStore(store.subscribe, store.getVersion);
  const locale = useLocale();
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({
    top: 0,
    real: 0,
    height: 600,
    width: 1000,
    isMeasured: false,
  });
  const position = useRef<Position>({ top: 0, real: 0 });
  const still = useRef(0);
  const anchor = useRef<{ piece: number; index: number; rest: number }>(undefined);
  const frame = useRef(0);
  const room = view.width - GUTTER_PX - (look?.hasTimes ? TIME_PX : 0);
  const columns = look?.isWrapped ? Math.max(20, Math.floor(room / CHARACTER_PX)) : undefined;
  const layout = useMemo(() => new Layout(store, columns), [store, columns]);

  const measure = useCallback(() => {
    frame.current = 0;
    const element = box.current;
    if (!element) return;
    const { scrollTop, clientHeight, clientWidth } = element;
    const room = { height: layout.numRows * LINE_PX, view: clientHeight };
    position.current = scrolledTo(scrollTop, position.current, room);
    const { top } = position.current;
    setView({
      top,
      real: scrollTop,
      height: clientHeight,
      width: clientWidth,
      isMeasured: true,
    });
    const row = Math.floor(top / LINE_PX);
    anchor.current = { ...layout.placeOf(row), rest: top - row * LINE_PX };
  }, [layout]);

  /** Show the log from a place on; pixels of the log, which may be more than the box has. */
  const moveTo = useCallback(
    (top: number) => {
      const element = box.current;
      if (!element) return;
      const room = { height: layout.numRows * LINE_PX, view: element.clientHeight };
      const next = positionOf(top, room);
      element.scrollTop = next.real;
      position.current = { top: next.top, real: element.scrollTop };
      measure();
    },
    [layout, measure],
  );

  useEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => {
      observer.disconnect();
      cancelAnimationFrame(frame.current);
      clearTimeout(still.current);
      frame.current = 0;
    };
  }, [measure]);

  const first = Math.max(0, Math.floor(view.top / LINE_PX) - AROUND);
  const count = Math.ceil(view.height / LINE_PX) + 2 * AROUND;
  const numRows = layout.numRows;
  const last = Math.min(numRows, first + count);

  // before it is known which lines are in sight, others would be fetched for nothing
  const isKnown = view.isMeasured && (target === undefined || store.isPlaced(target.line));
  useEffect(() => {
    if (!isKnown) return;
    store.want(layout.placeOf(first).piece, layout.placeOf(Math.max(first, last - 1)).piece);
  }, [store, layout, first, last, version, isKnown]);

  // guesses become counts: what is in sight stays where it is
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    if (isFollowing) {
      moveTo(Infinity);
      return;
    }
    const kept = anchor.current;
    if (!kept) return;
    const top = (layout.firstRow(kept.piece) + kept.index) * LINE_PX + kept.rest;
    if (Math.abs(top - position.current.top) > LINE_PX) moveTo(top);
  }, [version, layout, isFollowing, moveTo]);

  // once more when the place is known, and when the end is: before that, numbers and heights are guesses
  const isPlaced = target !== undefined && store.isPlaced(target.line);
  const isCounted = store.isCounted;
  useLayoutEffect(() => {
    const element = box.current;
    if (!element || !target) return;
    moveTo(layout.rowOf(target.line) * LINE_PX - element.clientHeight / 3);
    element.scrollLeft = 0;
  }, [target, layout, moveTo, isPlaced, isCounted]);

  /** After small steps the box may be where another place of the log belongs. */
  const settle = () => {
    const { top, real } = position.current;
    const room = { height: numRows * LINE_PX, view: view.height };
    if (!isFollowing && Math.abs(positionOf(top, room).real - real) > 1) moveTo(top);
  };
  const rows = [];
  for (let row = first; row < last; row++) {
    const found = layout.rowAt(layout.placeOf(row));
    const isTarget = target !== undefined && found?.number === target.line;
    rows.push(
      <LogLine
        key={row}
        top={row * LINE_PX - view.top + view.real}
        found={found}
        isTarget={isTarget}
        time={look?.hasTimes ? timeOf(store, found?.number, found?.offset, locale) : undefined}
        words={props.words}
        onNumber={props.onNumber}
      />,
    );
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
        if (isFollowing && !isAtEnd && element.scrollTop < view.real - LINE_PX) onFollow(false);
        if (!frame.current) frame.current = requestAnimationFrame(measure);
        clearTimeout(still.current);
        still.current = window.setTimeout(settle, STILL_MS);
      }}
    >
      <div className={styles.all} style={{ height: realHeight(numRows * LINE_PX) }}>
        {rows}
      </div>
    </div>
  );
}

function timeOf(
  store: LogStore,
  number: number | undefined,
  offset: number | undefined,
  locale: string,
): string {
  if (number === undefined || offset === undefined) return "";
  const at = store.timeAt(offset);
  return at === undefined ? "" : timeOfDay(at, locale);
}
