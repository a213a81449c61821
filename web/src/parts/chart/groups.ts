// Which lines share a chart. Pure.
import { naturally } from "@/parts/order";

export type SeriesKey = { type: string; name: string };
export type ChartGroup = { title: string; series: readonly SeriesKey[] };

export const SYSTEM = "system";

const ORDER = ["train", "val", "test"];

/** `train/loss`, as the API calls a series. */
export function wireName({ type, name }: SeriesKey): string {
  return `${type}/${name}`;
}

/**
 * Of one run, a metric's kinds (train, val, test) share a chart; of several runs, each kind has one of its own. The order
 * is that of train, val, test and then of the names.
 */
export function groupSeries(series: readonly SeriesKey[], isOneRun: boolean): ChartGroup[] {
  const groups = new Map<string, SeriesKey[]>();
  for (const key of [...series].sort(inOrder)) {
    const title = isOneRun || !key.type ? key.name : wireName(key);
    const group = groups.get(title);
    if (!group) groups.set(title, [key]);
    else if (!group.some((one) => wireName(one) === wireName(key))) group.push(key);
  }
  return [...groups].map(([title, members]) => ({ title, series: members }));
}

function inOrder(a: SeriesKey, b: SeriesKey): number {
  const [first, second] = [rank(a.type), rank(b.type)];
  if (first !== second) return first - second;
  return naturally(a.type, b.type) || naturally(a.name, b.name);
}

function rank(type: string): number {
  const at = ORDER.indexOf(type);
  return at < 0 ? ORDER.length : at;
}

export type Section = { name: string; groups: readonly ChartGroup[] };

/** Charts by what their names begin with, as `train` in `train/layer1/norm`; those without come first, under no name. */
export function sectionsOf(groups: readonly ChartGroup[]): Section[] {
  const found = new Map<string, ChartGroup[]>([["", []]]);
  for (const group of groups) {
    const cut = group.title.indexOf("/");
    const name = cut > 0 ? group.title.slice(0, cut) : "";
    const members = found.get(name);
    if (members) members.push(group);
    else found.set(name, [group]);
  }
  return [...found]
    .filter(([, members]) => members.length)
    .map(([name, members]) => ({ name, groups: members }));
}
