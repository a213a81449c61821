// How charts are looked at. It is kept in the address, and saved with a view.
import { AXES, type Axis } from "@/api/runs";
import { choiceIn, flagIn, listIn, numberIn, textIn } from "@/search";
import type { Range } from "./lines";

export const SIZES = ["small", "large"] as const;
export type YRange = readonly [low: number | undefined, high: number | undefined];

export type ChartView = {
  axis?: Axis;
  smoothing?: number;
  log?: boolean;
  hidden?: boolean;
  /** Values far from the others are left out of sight. */
  outliers?: boolean;
  /** What runs are put together by, such as `hparams.lr`. */
  group?: string;
  /** The part of the X axis that is in sight. */
  from?: number;
  to?: number;
  /** The Y axes that somebody has set, as `low:high=title`. */
  ranges?: string[];
  /** Titles of the charts that come first, in this order. */
  pins?: string[];
  size?: (typeof SIZES)[number];
};

export function chartViewIn(search: Record<string, unknown>): ChartView {
  return {
    ...choiceIn(search, "axis", AXES),
    ...numberIn(search, "smoothing"),
    ...flagIn(search, "log"),
    ...flagIn(search, "hidden"),
    ...flagIn(search, "outliers"),
    ...textIn(search, "group"),
    ...numberIn(search, "from"),
    ...numberIn(search, "to"),
    ...listIn(search, "ranges"),
    ...listIn(search, "pins"),
    ...choiceIn(search, "size", SIZES),
  };
}

export function zoomOf({ from, to }: ChartView): Range | undefined {
  return from !== undefined && to !== undefined && from < to ? [from, to] : undefined;
}

/** What somebody has set of the Y axis of a chart. */
export function yRangeOf({ ranges = [] }: ChartView, title: string): YRange | undefined {
  const found = ranges.find((one) => one.slice(one.indexOf("=") + 1) === title);
  if (found === undefined) return undefined;
  const [low = "", high = ""] = found.slice(0, found.indexOf("=")).split(":");
  return [numberOf(low), numberOf(high)];
}

/** The view with another Y axis of a chart; without either end its values decide again. */
export function withYRange(view: ChartView, title: string, [low, high]: YRange): ChartView {
  const others = (view.ranges ?? []).filter((one) => one.slice(one.indexOf("=") + 1) !== title);
  const isSet = low !== undefined || high !== undefined;
  const ranges = isSet
    ? [...others, `${String(low ?? "")}:${String(high ?? "")}=${title}`]
    : others;
  return { ...view, ranges: ranges.length ? ranges : undefined };
}

/** The view with a chart moved among the pinned ones; beyond the first place it stays the first. */
export function withPinMoved(view: ChartView, title: string, by: -1 | 1): ChartView {
  const pins = [...(view.pins ?? [])];
  const at = pins.indexOf(title);
  const to = at + by;
  if (at < 0 || to < 0 || to >= pins.length) return view;
  pins.splice(to, 0, ...pins.splice(at, 1));
  return { ...view, pins };
}

export function withPin(view: ChartView, title: string, isPinned: boolean): ChartView {
  const others = (view.pins ?? []).filter((one) => one !== title);
  const pins = isPinned ? [...others, title] : others;
  return { ...view, pins: pins.length ? pins : undefined };
}

export function numberOf(text: string): number | undefined {
  const value = Number(text);
  return text.trim() !== "" && Number.isFinite(value) ? value : undefined;
}
