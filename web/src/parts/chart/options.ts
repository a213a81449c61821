import type uPlot from "uplot";
import { highestOf, showNumber } from "../numbers";
import { showSeconds, unitName } from "../time";
import type { XKind } from "./Chart";

type Wanted = {
  height: number;
  isLog: boolean;
  xKind: XKind;
  group: string | undefined;
  locale: string;
};

/** Axes, grid and zoom. Colours are those that the style sheet gives the box. */
export function makeOptions(box: HTMLElement, wanted: Wanted): uPlot.Options {
  const style = getComputedStyle(box);
  const [text, line] = [style.color, style.borderTopColor];
  const font = `11px ${style.fontFamily}`;
  const grid = { stroke: line, width: 1 };
  const shared = { stroke: text, font, grid, ticks: { show: false }, border: { show: false } };
  return {
    width: Math.max(box.clientWidth, 120),
    height: wanted.height,
    padding: [8, 12, 0, 0],
    legend: { show: false },
    scales: {
      x: { time: wanted.xKind === "clock", auto: false, range: (_, low, high) => [low, high] },
      y: { auto: false, distr: wanted.isLog ? 3 : 1, range: (_, low, high) => [low, high] },
    },
    cursor: {
      drag: { x: true, y: false },
      points: { show: false },
      y: false,
      sync: wanted.group === undefined ? undefined : { key: wanted.group, setSeries: false },
    },
    axes: [
      {
        ...shared,
        size: 26,
        gap: 4,
        space: 64,
        grid: { show: false },
        values:
          wanted.xKind === "clock"
            ? (_, splits, __, ___, between) => clockTimes(splits, between, wanted.locale)
            : (_, splits) =>
                splits.map((value) =>
                  wanted.xKind === "seconds" ? shortSeconds(value, wanted.locale) : short(value),
                ),
      },
      {
        ...shared,
        size: (_, values) => Math.max(34, 7 * longest(values ?? []) + 14),
        gap: 6,
        space: 30,
        values: (_, splits) =>
          splits.map((value) => (value == null ? "" : showNumber(tidy(value)))),
      },
    ],
    series: [{}, { paths: () => null, points: { show: false } }],
  };
}

function longest(values: readonly (string | null)[]): number {
  return highestOf(
    values.map((value) => value?.length ?? 0),
    0,
  );
}

/** 0.30000000000000004 is 0.3. */
function tidy(value: number): number {
  return Number(value.toPrecision(10));
}

function short(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e9) return `${showNumber(value / 1e9)}G`;
  if (size >= 1e6) return `${showNumber(value / 1e6)}M`;
  if (size >= 1e4) return `${showNumber(value / 1e3)}k`;
  return showNumber(tidy(value));
}

const DAY_SECONDS = 86_400;
const MONTH_SECONDS = 28 * DAY_SECONDS;

/** Times of day, with the date where a day begins; only dates when days or months are between them. */
export function clockTimes(seconds: readonly number[], between: number, locale: string): string[] {
  const show = (form: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat(locale, form);
  const clock = show({
    hour: "2-digit",
    minute: "2-digit",
    second: between < 60 ? "2-digit" : undefined,
    hourCycle: "h23",
  });
  const date = show(
    between < MONTH_SECONDS
      ? { month: "short", day: "numeric" }
      : { year: "numeric", month: "short" },
  );
  return seconds.map((second) => {
    const at = new Date(second * 1000);
    const isMidnight = at.getHours() + at.getMinutes() + at.getSeconds() === 0;
    const isDate = between >= DAY_SECONDS || isMidnight;
    return (isDate ? date : clock).format(at);
  });
}

function shortSeconds(seconds: number, locale: string): string {
  return seconds < 10 && !Number.isInteger(seconds)
    ? `${showNumber(tidy(seconds))} ${unitName("second", locale)}`
    : showSeconds(seconds, locale).replace(/ 0 \S+$/, "");
}
