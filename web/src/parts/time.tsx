import { useSyncExternalStore } from "react";
import { useLocale } from "@/texts/language";

const UNITS = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
] as const;

/** When something was: "3 minutes ago", and on pointing the exact time. */
export function Ago(props: { at: string | null | undefined }) {
  const locale = useLocale();
  const now = useNow(10_000);
  if (!props.at) return <span className="faint">–</span>;
  const then = new Date(props.at);
  if (!isTime(then)) return <span className="faint">–</span>;
  return (
    <time dateTime={props.at} title={exact(then, locale)}>
      {ago(then.getTime(), now, locale)}
    </time>
  );
}

/** The exact time. */
export function Moment(props: { at: string }) {
  const locale = useLocale();
  return <time dateTime={props.at}>{exact(new Date(props.at), locale)}</time>;
}

/** How long something took, or takes so far. */
export function Duration(props: { from: string | null | undefined; to?: string | null }) {
  const isOver = Boolean(props.to);
  const now = useNow(isOver ? undefined : 1_000);
  const locale = useLocale();
  if (!props.from) return <span className="faint">–</span>;
  const end = props.to ? new Date(props.to).getTime() : now;
  return (
    <span className="number">
      {showSeconds((end - new Date(props.from).getTime()) / 1000, locale)}
    </span>
  );
}

/** The exact time in words; "–" for what is no time, as a script's clock may say. */
export function exact(then: Date, locale: string): string {
  if (!isTime(then)) return "–";
  return new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "medium" }).format(then);
}

/** Seconds since 1970 as the API writes times; undefined for what is no time. */
export function timeAt(seconds: number): string | undefined {
  const then = new Date(seconds * 1000);
  return isTime(then) ? then.toISOString() : undefined;
}

/** When a day begins for the person who looks; `days` later for an end. Undefined for what is no day. */
export function startOfDay(day: string, days = 0): string | undefined {
  const found = new Date(`${day}T00:00:00`);
  found.setDate(found.getDate() + days);
  return isTime(found) ? found.toISOString() : undefined;
}

const clocksOfDay = new Map<string, Intl.DateTimeFormat>();

/** The time of day of seconds since 1970, from 00:00:00 to 23:59:59; "" for what is no time. */
export function timeOfDay(seconds: number, locale: string): string {
  let format = clocksOfDay.get(locale);
  if (!format) {
    format = new Intl.DateTimeFormat(locale, { timeStyle: "medium", hourCycle: "h23" });
    clocksOfDay.set(locale, format);
  }
  const then = new Date(seconds * 1000);
  return isTime(then) ? format.format(then) : "";
}

function isTime(then: Date): boolean {
  return !Number.isNaN(then.getTime());
}

export function ago(then: number, now: number, locale: string): string {
  const seconds = Math.round((then - now) / 1000);
  const format = new Intl.RelativeTimeFormat(locale, { numeric: "auto", style: "short" });
  for (const [unit, size] of UNITS) {
    if (Math.abs(seconds) >= size) return format.format(Math.trunc(seconds / size), unit);
  }
  // clocks differ a little; what has happened is not in the future
  return format.format(Math.abs(seconds) < 10 ? 0 : Math.min(0, seconds), "second");
}

type Unit = "day" | "hour" | "minute" | "second";

/** 4 s, 3 min 20 s, 5 h 10 min, 2 d 4 h, in the words of the reader's language. */
export function showSeconds(seconds: number, locale: string): string {
  const whole = Math.max(0, Math.round(seconds));
  const parts: [number, Unit][] =
    whole < 60
      ? [[whole, "second"]]
      : whole < 3_600
        ? [
            [Math.floor(whole / 60), "minute"],
            [whole % 60, "second"],
          ]
        : whole < 86_400
          ? [
              [Math.floor(whole / 3_600), "hour"],
              [Math.floor(whole / 60) % 60, "minute"],
            ]
          : [
              [Math.floor(whole / 86_400), "day"],
              [Math.floor(whole / 3_600) % 24, "hour"],
            ];
  return parts.map(([count, unit]) => `${String(count)} ${unitName(unit, locale)}`).join(" ");
}

export function unitName(unit: Unit, locale: string): string {
  const names = locale.startsWith("zh")
    ? { day: "天", hour: "小时", minute: "分", second: "秒" }
    : { day: "d", hour: "h", minute: "m", second: "s" };
  return names[unit];
}

const NEVER = () => () => undefined;

/** The time now, again every so often; once when left out. All that show a time share one clock per pace. */
export function useNow(everyMs?: number): number {
  const clock = everyMs === undefined ? undefined : clockOf(everyMs);
  return useSyncExternalStore(clock?.subscribe ?? NEVER, clock?.read ?? startOfPage);
}

const START = Date.now();
const startOfPage = () => START;

type Clock = { subscribe: (listener: () => void) => () => void; read: () => number };
const clocks = new Map<number, Clock>();

function clockOf(everyMs: number): Clock {
  const known = clocks.get(everyMs);
  if (known) return known;
  const listeners = new Set<() => void>();
  let now = Date.now();
  let timer: ReturnType<typeof setInterval> | undefined;
  const made: Clock = {
    subscribe: (listener) => {
      if (!listeners.size) {
        now = Date.now();
        timer = setInterval(() => {
          now = Date.now();
          for (const each of listeners) each();
        }, everyMs);
      }
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
        if (!listeners.size) clearInterval(timer);
      };
    },
    read: () => now,
  };
  clocks.set(everyMs, made);
  return made;
}
